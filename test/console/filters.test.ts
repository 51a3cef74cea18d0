/** Filters on their way between the builder, the address and the doors: nothing is lost and nothing is added. */

import { afterAll, describe, expect, test } from 'bun:test';
import { graphqlWire } from '../../src/console/browser/doors/graphql.ts';
import { restWire } from '../../src/console/browser/doors/rest.ts';
import { type Group, groupOf, spoken, WORDS, whereOf } from '../../src/console/browser/filter-tree.ts';
import { type Introspection, introspectionQuery } from '../../src/console/browser/schema/introspection.ts';
import { readSchema } from '../../src/console/browser/schema/merge.ts';
import type { Resource } from '../../src/console/browser/schema/types.ts';
import { listAsk, listLink, operand } from '../../src/console/browser/views/list-place.ts';
import { LOGIC, OWN_PARAMETERS, type Where } from '../../src/console/browser/where.ts';
import { operatorNames } from '../../src/query/operators.ts';
import { listParameters } from '../../src/rest/parameters.ts';
import { ownFilters } from '../../src/schema/names.ts';
import { openApp } from '../app.ts';
import { museum } from './museum.ts';

const app = await openApp('sqlite', museum);
afterAll(() => app.close());
const schema = readSchema(
  (await app.rest('GET', '/openapi.json')).body,
  (await app.graphql(introspectionQuery)).data as Introspection,
);
const exhibit = schema.byName.get('Exhibit') as Resource;
const found = async (where: Where) =>
  (await app.rest('GET', `/exhibits?fields=id&where=${encodeURIComponent(JSON.stringify(where))}`)).body;

/** Filters with their REST parameters, where these can spell them. */
const filters: [Where, string | undefined][] = [
  [{ title: { contains: 'it 1' } }, 'title[contains]=it%201'],
  [{ weight: { gte: 3, lt: 60 }, onLoan: { eq: false } }, 'weight[gte]=3&weight[lt]=60&onLoan[eq]=false'],
  [{ id: { in: [1, 2, 3] } }, 'id[in]=1,2,3'],
  [{ stage: { in: ['DONE', 'ACTIVE'] } }, 'stage[in]=DONE,ACTIVE'],
  [{ label: { isNull: true } }, 'label[isNull]=true'],
  [{ hall: { name: { startsWith: 'Hall' } } }, 'hall.name[startsWith]=Hall'],
  [{ title: { in: ['Exhibit 2', 'a, b'] } }, undefined],
  [{ and: [{ title: { contains: '1' } }, { title: { contains: '2' } }] }, undefined],
  [{ or: [{ weight: { gt: 80 } }, { stage: { eq: 'DONE' } }] }, undefined],
  [{ not: { stage: { eq: 'DONE' } } }, undefined],
  [{ not: { weight: { gt: 3 }, stage: { eq: 'DONE' } } }, undefined],
  [
    { and: [{ weight: { lt: 80 } }, { or: [{ id: { eq: 7 } }, { not: { label: { isNull: true } } }] }] },
    undefined,
  ],
  [{ hall: { museum: { name: { eq: 'House of Numbers' } } } }, 'hall.museum.name[eq]=House%20of%20Numbers'],
];

describe.each(filters)('%j', (where, parameters) => {
  test('the address says it, and is read as the same', () => {
    const link = listLink({ ...listAsk(exhibit, new URLSearchParams()), where });
    const query = link.split('?')[1] ?? '';
    if (parameters !== undefined) expect(query).toBe(parameters);
    else expect(new URLSearchParams(query).get('where')).toBe(JSON.stringify(where));
    expect(listAsk(exhibit, new URLSearchParams(query), schema).where).toEqual(where);
  });

  test('the builder shows it, and means the same records', async () => {
    const group = groupOf(where, exhibit, schema);
    // A path of two references and a comma in a list have no place in the builder: they are written as JSON.
    if (/"museum"|"a, b"/.test(JSON.stringify(where))) return expect(group).toBeUndefined();
    const built = whereOf(group as Group, exhibit, schema, operand) as Where;
    expect(await found(built)).toEqual(await found(where));
    expect((await found(where)).length).toBeGreaterThan(where['and'] ? 0 : 1);
  });
});

test('a filter that says nothing at some place is sent as it is, for the service to refuse', async () => {
  for (const where of [{ title: {} }, { hall: { name: {} } }, { hall: {} }, { title: { eq: 'a' }, id: {} }]) {
    const query = listLink({ ...listAsk(exhibit, new URLSearchParams()), where }).split('?')[1] ?? '';
    expect(new URLSearchParams(query).get('where')).toBe(JSON.stringify(where));
    expect((await app.rest('GET', `/exhibits?${query}`)).body.code).toBe('VALIDATION_FAILED');
  }
});

test('what is searched for stands in the address, and both doors find it', async () => {
  expect(schema.resources.filter(({ searchable }) => searchable)).toEqual([exhibit]);
  const query = new URLSearchParams({ search: 'text a', sort: '_relevance' });
  const ask = listAsk(exhibit, query, schema);
  expect([ask.search, ask.sort, ask.where]).toEqual(['text a', ['_relevance'], undefined]);
  expect(listLink(ask)).toContain('?search=text%20a&sort=_relevance');
  for (const sort of [['_relevance'], ['-_relevance', 'title']]) {
    const rest = restWire({ ...ask, sort }, schema);
    const graphql = graphqlWire({ ...ask, sort }, schema)?.graphql;
    const { body } = await app.rest('GET', rest?.path ?? '');
    const { data } = await app.graphql(graphql?.query ?? '', graphql?.variables);
    expect(body.map(({ id }: any) => String(id))).toEqual(['2']);
    expect(data.exhibitsConnection.edges.map(({ node }: any) => node.id)).toEqual(['2']);
  }
  const sorted = graphqlWire({ ...ask, sort: ['-_relevance', '-title', 'id', '_relevance'] }, schema);
  expect(sorted?.graphql?.variables['orderBy']).toEqual([
    { _relevance: 'ASC' },
    { title: 'DESC' },
    { id: 'ASC' },
    { _relevance: 'DESC' },
  ]);
});

test('the console and the service have the same names for everything that a list can be asked', () => {
  expect([...OWN_PARAMETERS].sort()).toEqual([...listParameters].sort());
  expect([...LOGIC].sort()).toEqual([...ownFilters, 'some', 'none'].sort());
  expect(Object.keys(WORDS).sort()).toEqual([...operatorNames].sort());
});

test('days come before and after each other; numbers are less and more', () => {
  const words = (name: string) => {
    const column = exhibit.columns.find((each) => each.name === name);
    return ['gt', 'lte', 'eq'].map((operator) => spoken(operator, column));
  };
  expect(words('acquired')).toEqual(['is after', 'is until', 'is']);
  expect(words('inspectedAt')).toEqual(['is after', 'is until', 'is']);
  expect(words('weight')).toEqual(['is more than', 'is at most', 'is']);
});

test('every column has exactly the operators that both doors have for it', async () => {
  for (const resource of schema.resources) {
    if (!resource.operations.has('LIST') || !resource.rest) continue;
    for (const { name, operators } of resource.columns)
      for (const operator of [...operatorNames, 'like']) {
        const { body } = await app.rest('GET', `${resource.rest.path}?${name}[${operator}]=x`);
        const unknown = body.errors?.some(({ code }: any) => code === 'UNKNOWN') ?? false;
        expect([resource.name, name, operator, unknown]).toEqual([
          resource.name,
          name,
          operator,
          !operators.includes(operator),
        ]);
      }
  }
});
