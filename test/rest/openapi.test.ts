/** The service keeps its word: it answers what `/openapi.json` says, to everything that it allows and forbids. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { aggregateFits, aggregateFunctions } from '../../src/query/aggregates.ts';
import { isSortable } from '../../src/query/operators.ts';
import { groupable, spelt, timeParts } from '../../src/query/parts.ts';
import { groupsOf } from '../../src/query/results.ts';
import { isSearchable, RELEVANCE } from '../../src/query/search.ts';
import { textOfUnits } from '../../src/schema/exact.ts';
import type { Column, Reference, Resource } from '../../src/schema/model.ts';
import { incrementable, isScalar, scaleOf, storedColumns } from '../../src/schema/values.ts';
import { databases, openApp, shipped } from '../app.ts';
import { type DescribedOperation, Description, join } from './described.ts';
import { rich } from './rich.ts';
import { edges, sample } from './samples.ts';
import { Walk } from './walk.ts';

/** No request makes the machine fail, wears all ids of an ordinary collection out, is slow, or has a token. */
const unprovoked = /^(?!POST \/fulls 507).* (408|500|503|507)$|^POST \/(fulls|signeds) 201$/;

/** Names no record. */
const NOWHERE = '01890f5a-0000-7000-8000-000000000000';

const relations = ({ fields }: Resource) =>
  fields.flatMap((field) => (field.kind !== 'column' && field.target.rest ? [field.name] : []));

/** What a list of words can have, where that is described for all types alike. */
const named: Record<string, (resource: Resource) => string[]> = {
  fields: (resource) => storedColumns(resource).map(({ name }) => name),
  include: relations,
  aggregate: (resource) =>
    aggregateFunctions.flatMap((of) =>
      of === 'count'
        ? [of]
        : resource.columns.filter((column) => aggregateFits(of, column)).map(({ name }) => `${of}(${name})`),
    ),
  groupBy: (resource) => groupable(resource).map(spelt),
  sort: (resource) =>
    [
      ...resource.columns.filter(isSortable).map(({ name }) => name),
      ...(isSearchable(resource) ? [RELEVANCE] : []),
    ].flatMap((name) => [name, `-${name}`]),
};

/** `count`, `sum(total)`. */
function resultsOf(resource: Resource): string[] {
  return [...groupsOf(resource).fieldByName.values()].flatMap((field) =>
    field.kind === 'column' ? [field.name] : [...field.fieldByName.values()].map(({ name }) => name),
  );
}

/** The most that can be added to a number. */
function mostOf(column: Column): unknown {
  const { type } = column;
  if (isScalar(type) && type.is === 'exact') return textOfUnits(2n ** 63n - 1n, scaleOf(column));
  return isScalar(type) && type.name === 'Float' ? Number.MAX_VALUE : 2 ** 31 - 1;
}

// The shipped file says nothing that the rich one does not say, too.
for (const [name, deployment] of Object.entries({ shipped, rich }))
  for (const database of name === 'rich' ? databases : (['sqlite'] as const))
    describe(`${name}, on ${database}`, () => {
      let walk: Walk;
      let described: Description;
      let plain: Description;
      beforeAll(async () => {
        walk = await Walk.open(database, deployment);
        described = walk.described;
        plain = await Description.of(walk.app, 'client');
      });
      afterAll(() => walk.app.close());

      /** Without `fields`, a record has all that the profile for clients says. */
      const isWhole = ({ name }: Resource, record: unknown, about: string) =>
        plain.fit(join('#/components/schemas', name), record, about);
      /** Points to a record that there is not. */
      const gone = ({ column, target }: Reference) => ({
        [column.name]: target.key.origin.by === 'serial' ? 987654321 : NOWHERE,
      });

      test('the document is valid OpenAPI 3.1', async () => {
        const { valid, errors } = await new Validator().validate(structuredClone(described.document));
        expect(errors ?? []).toEqual([]);
        expect(valid).toBe(true);
      });

      test('it has the paths and methods that are served, and no other', async () => {
        for (const [path, item] of Object.entries<object>(described.document.paths)) {
          const { headers } = await walk.app.fetch(path.replace(/\{\w+\}/, '1'), { method: 'OPTIONS' });
          const methods = Object.keys(item).filter((method) => method !== 'parameters');
          const wanted = methods.flatMap((method) => (method === 'get' ? ['get', 'head'] : [method]));
          expect([path, headers.get('Allow')?.toLowerCase()]).toEqual([
            path,
            [...wanted, 'options'].join(', '),
          ]);
        }
        const paths = Object.keys(described.document.paths);
        for (const { path, key, rest, operations } of walk.model.resources) {
          const served = (...kinds: Parameters<typeof operations.has>[0][]) =>
            rest && kinds.some((kind) => operations.has(kind));
          expect(paths.includes(`/${path}`)).toBe(served('LIST', 'CREATE'));
          expect(paths.includes(`/${path}/{${key.name}}`)).toBe(served('GET', 'UPDATE', 'DELETE'));
        }
        const ids = described.operations.map(({ operation }) => operation.operationId);
        expect(new Set(ids).size).toBe(ids.length);
      });

      test('its examples fit its schemas', () => {
        const examples = described.examples();
        for (const { schema, value } of examples) described.fit(schema, value, 'an example');
        expect(examples.length).toBeGreaterThan(20);
      });

      test('what it allows is done', async () => {
        for (const { operation, resource } of walk.operations('POST', 'list')) {
          const { status, body } = await walk.create(resource);
          const wanted = { Signed: 401, Full: 507 }[resource.name] ?? 201;
          expect([operation.path, status]).toEqual([operation.path, wanted]);
          if (status === 201) isWhole(resource, body, operation.path);
        }
        for (const { operation, resource } of walk.operations('GET', 'list')) {
          const { body } = await described.send(operation, {});
          for (const record of body) isWhole(resource, record, operation.path);
          for (const Accept of ['text/csv', 'application/x-ndjson']) {
            const file = await described.send(operation, { headers: { Accept } });
            expect(file.headers.get('Content-Type')).toStartWith(Accept);
          }
        }
        for (const { operation, resource } of walk.operations('GET', 'one')) {
          const key = String(walk.key(resource));
          const { body, headers } = await described.send(operation, { key });
          isWhole(resource, body, operation.path);
          const tag = { 'If-None-Match': headers.get('ETag') };
          expect((await described.send(operation, { key, headers: tag })).status).toBe(304);
          const put = walk.find('PUT', resource);
          // What was read can be sent, and so can the example.
          for (const change of put ? [{}, walk.input(put, resource)] : []) {
            const current = await described.send(operation, { key });
            const answer = put && (await described.send(put, { key, body: { ...current.body, ...change } }));
            expect([operation.path, answer?.body.errors, answer?.status]).toEqual([
              operation.path,
              undefined,
              200,
            ]);
            isWhole(resource, answer?.body, operation.path);
          }
        }
        for (const operation of described.operations) {
          if (walk.resourceOf(operation)) continue;
          const body = operation.operation.requestBody?.content['application/json'].example;
          expect((await described.send(operation, { body, query: needed(operation) })).status).toBe(200);
        }
      });

      test('HEAD answers like GET, without a body', async () => {
        for (const { method, path } of described.operations) {
          const resource = walk.model.resources.find((each) => path.startsWith(`/${each.path}/`));
          const url = path.replace(/\{\w+\}/, encodeURIComponent(String(resource && walk.key(resource))));
          if (method !== 'GET' || path === '/graphql') continue;
          const [get, head] = [await walk.app.fetch(url), await walk.app.fetch(url, { method: 'HEAD' })];
          expect(await head.text()).toBe('');
          for (const header of ['Content-Type', 'ETag', 'Deprecation'])
            expect([url, head.headers.get(header)]).toEqual([url, get.headers.get(header)]);
          expect([url, head.status]).toEqual([url, 200]);
        }
      });

      test('every parameter that it has is taken', async () => {
        for (const { operation, resource, parameter, key, schema } of walk.parameters()) {
          // Cursors come from answers.
          if (/^(\w+\[)?(after|before)\]?$/.test(parameter.name)) continue;
          const items = named[parameter.name]?.(resource);
          const values = items
            ? [...items.map((item: string) => [item]), items]
            : [sample(described, schema)];
          for (const [field, of] of Object.entries<any>(parameter.name === 'where' ? schema.properties : {}))
            for (const [operator, operand] of Object.entries<any>(described.schema(of).properties ?? {}))
              values.push({ [field]: { [operator]: sample(described, operand) } });
          if (parameter.name === 'having')
            for (const [result, fields] of [...groupsOf(resource).fieldByName])
              for (const name of 'fieldByName' in fields ? fields.fieldByName.keys() : [])
                values.push({ [result]: { [name]: { isNull: false } } });
          const parts = timeParts(resource).map(spelt);
          const groups = parts.length > 0 ? `groupBy=${parts.join()}&` : 'aggregate=count&';
          const ofGroups = parameter.name === 'sort' ? [...parts, ...resultsOf(resource)] : [];
          values.push(...ofGroups.flatMap((word) => [[word], [`-${word}`]]));
          for (const value of values) {
            const isOfGroups = parameter.name === 'having' || ofGroups.includes(value[0]?.replace?.('-', ''));
            const plain = walk.query(parameter, value);
            // It goes with a search only.
            const searched = plain.includes('_relevance') ? '&search=text' : '';
            const query = (isOfGroups ? groups : '') + plain + searched;
            const { status, body } = await described.send(operation, { key, query });
            expect([operation.path, query, status, body.errors]).toEqual([
              operation.path,
              query,
              200,
              undefined,
            ]);
            if (parameter.style === 'form')
              described.fit(described.pointerTo(operation, parameter.name), value, query);
          }
        }
      });

      test('the examples of parameters are taken, and so are the requests that it shows', async () => {
        const given = walk.parameters().flatMap(({ operation, parameter, key }) => {
          const { example = parameter.content?.['application/json'].example } = parameter;
          return example === undefined ? [] : [{ operation, parameter, key, example }];
        });
        for (const { operation, parameter, key, example } of given) {
          const query = walk.query(parameter, example);
          const { status } = await described.send(operation, { key, query });
          expect([operation.path, query, status]).toEqual([operation.path, query, 200]);
        }
        const has = new Set(given.map(({ parameter }) => parameter.name));
        for (const wanted of ['limit', 'offset', 'sort', 'where', 'fields', 'count', 'aggregate'])
          expect(has).toContain(wanted);
        const shown = JSON.stringify(described.document).match(/(?<=`GET )[^`]+/g) ?? [];
        const queries = new Set(shown);
        for (const url of queries) expect([url, (await walk.app.fetch(url)).status]).toEqual([url, 200]);
        // Each kind of them: fields, include, lists in it, sort, aggregates, groups, and filters along a path.
        expect(queries.size).toBeGreaterThan(8);
      });

      test('what it says of included lists is taken', async () => {
        for (const { operation, resource } of walk.operations('GET', 'list'))
          for (const { name: list, target } of resource.inverses.filter(({ target: { rest } }) => rest)) {
            const asked = { limit: '1', offset: '0', sort: target.key.name, where: '{}' };
            for (const [option, value] of Object.entries(asked)) {
              expect(described.operation('GET', operation.path).parameters).toContainEqual(
                expect.objectContaining({ description: expect.stringContaining(`\`[${option}]\``) }),
              );
              const query = `include=${list}&${list}[${option}]=${value}`;
              expect([query, (await described.send(operation, { query })).status]).toEqual([query, 200]);
            }
          }
      });

      test('pages lead to each other, and are counted', async () => {
        for (const { operation, resource } of walk.operations('GET', 'list')) {
          const { body } = await described.send(operation, {});
          const found: unknown[] = [];
          let query = 'limit=1&count=true';
          while (query !== '') {
            const page = await described.send(operation, { query });
            expect(page.headers.get('X-Total-Count')).toBe(String(body.length));
            found.push(...page.body);
            query = /\?([^>]*)>; rel="next"/.exec(page.headers.get('Link') ?? '')?.[1] ?? '';
          }
          expect([resource.name, found]).toEqual([resource.name, body]);
        }
      });

      test('a parameter that it does not allow is refused', async () => {
        for (const { operation, parameter, key, schema } of walk.parameters()) {
          const of = described.schema(schema.items ?? schema);
          const isText = of.type === 'string' && !of.format && !of.enum && !of.pattern;
          if (isText && !/(after|before)\]?$/.test(parameter.name)) continue;
          for (const value of ['nonsense', '0.5x']) {
            const query = walk.query(parameter, value);
            const { status } = await described.send(operation, { key, query });
            expect([operation.path, query, status]).toEqual([operation.path, query, 400]);
          }
        }
        const openapi = described.operation('GET', '/openapi.json');
        expect((await described.send(openapi, { query: 'profile=nonsense' })).status).toBe(400);
        const long = 'a'.repeat(9000);
        for (const operation of described.operations) {
          const resource = walk.resourceOf(operation);
          const key = String(resource && walk.key(resource));
          const body = operation.method === 'GET' ? undefined : {};
          expect((await described.send(operation, { key, query: long, body })).status).toBe(414);
          for (const query of resource ? ['colour=red', 'limit=1&limit=1', 'sort', 'nowhere[eq]=1'] : []) {
            const { status } = await described.send(operation, { key, query, body });
            expect([operation.path, query, status]).toEqual([operation.path, query, 400]);
          }
        }
      });

      test('filters are refused exactly when they break their schema', async () => {
        for (const { operation, resource } of walk.operations('GET', 'list')) {
          const pointer = join('#/components/schemas', `${resource.name}Where`);
          const { properties } = described.schema(described.at(pointer));
          const wheres: unknown[] = [null, 1, [], {}, { colour: { eq: 1 } }];
          for (const [field, schema] of Object.entries<any>(properties)) {
            const operands = Object.entries<any>(described.schema(schema).properties ?? {});
            for (const value of [null, 1, [], {}, [1], [{}], { like: 1 }]) wheres.push({ [field]: value });
            for (const [operator, operand] of operands)
              for (const value of edges(described, operand)) wheres.push({ [field]: { [operator]: value } });
          }
          for (const where of wheres) {
            const query = `where=${encodeURIComponent(JSON.stringify(where))}`;
            const { status } = await described.send(operation, { query });
            const wanted = described.fits(pointer, where) ? 200 : 400;
            expect([operation.path, where, status]).toEqual([operation.path, where, wanted]);
          }
        }
      });

      test('bodies are refused exactly when they break their schema', async () => {
        for (const { operation, resource } of [
          ...walk.operations('POST', 'list'),
          ...walk.operations('PUT', 'one'),
        ]) {
          const key = String(walk.key(resource));
          const pointer = `${join(`${operation.pointer}/requestBody/content`, 'application/json')}/schema`;
          const { properties } = described.schema(described.at(pointer));
          const input = () => walk.input(operation, resource);
          const bodies: Record<string, unknown>[] = [{}, { ...input(), colour: 'red' }];
          for (const [field, schema] of Object.entries<any>(properties)) {
            const { [field]: _, ...without } = input();
            bodies.push(without);
            // It is allowed only as it is stored, which no schema can say.
            if (schema.readOnly) continue;
            for (const value of edges(described, schema)) bodies.push({ ...input(), [field]: value });
          }
          for (const body of bodies) {
            const { status } = await described.send(operation, { key, body });
            const isRefused = status === 400;
            expect([operation.pointer, body, isRefused]).toEqual([
              operation.pointer,
              body,
              !described.fits(pointer, body),
            ]);
          }
        }
      });

      test('whatever else is wrong is answered as declared', async () => {
        for (const operation of described.operations) {
          const resource = walk.resourceOf(operation);
          if (!resource && !operation.operation.requestBody) continue;
          const key = String(resource && walk.key(resource));
          const expectStatus = async (wanted: number, request: Parameters<Description['send']>[1]) => {
            const { status } = await described.send(operation, { key, ...request });
            expect([operation.pointer, request, status]).toEqual([operation.pointer, request, wanted]);
          };
          if (operation.operation.requestBody) {
            const deep = `${'{"a":'.repeat(40)}1${'}'.repeat(40)}`;
            for (const body of ['', '{', '[]', '1', 'null', deep]) await expectStatus(400, { body });
            await expectStatus(400, { body: '{}', headers: { 'Content-Type': 'text/plain' } });
          }
          if (operation.method !== 'GET') await expectStatus(413, { body: `"${'x'.repeat(20_000)}"` });
          if (walk.resourceOf(operation) && operation.method !== 'GET')
            await expectStatus(412, { body: { a: 1 }, headers: { 'If-Match': '"999-nothing"' } });
          if (!operation.path.includes('{')) continue;
          for (const nowhere of ['987654321', 'abc', '01', '-1', '\u0001', NOWHERE])
            await expectStatus(404, { key: nowhere, body: operation.method === 'GET' ? undefined : {} });
        }
      });

      test('GraphQL is answered as declared', async () => {
        const graphql = described.operation('POST', '/graphql');
        const byGet = described.operation('GET', '/graphql');
        const wrong = ['{', '{ nothing }', 'query($a: Int!) { __typename }', 'query a { a } query b { b }'];
        for (const query of wrong)
          for (const [Accept, wanted] of [
            ['application/json', 200],
            ['application/graphql-response+json', 400],
          ] as const) {
            const { status } = await described.send(graphql, { body: { query }, headers: { Accept } });
            expect([query, status]).toEqual([query, wanted]);
            const got = await described.send(byGet, {
              query: String(new URLSearchParams({ query })),
              headers: { Accept },
            });
            expect([query, got.status]).toEqual([query, wanted]);
          }
        const headers = { Accept: 'text/html' };
        expect((await described.send(graphql, { body: {}, headers })).status).toBe(406);
        expect((await described.send(byGet, { query: needed(byGet), headers })).status).toBe(406);
        expect((await described.send(byGet, {})).status).toBe(405);
      });

      test('a transaction fails as its operations do', async () => {
        const transaction = described.operation('POST', '/transaction');
        const { example } = transaction.operation.requestBody.content['application/json'];
        const [write] = example.operations;
        const path = `${write.path}/${walk.key(walk.resourceOf(write) as Resource)}`;
        const steps = [
          [200, { ...write, as: undefined }],
          [400, { ...write, as: 'a.b' }],
          [404, { method: 'DELETE', path: `${write.path}/987654321` }],
          [412, { method: 'DELETE', path, ifMatch: '"999-nothing"' }],
        ] as const;
        const send = (...operations: unknown[]) => described.send(transaction, { body: { operations } });
        for (const [wanted, step] of steps)
          expect([step, (await send(write, step)).status]).toEqual([step, wanted]);
        if (walk.model.byType.has('Signed'))
          expect((await send({ method: 'POST', path: '/signeds', body: {} })).status).toBe(401);
        for (const { operation, resource } of walk.operations('POST', 'list').slice(0, 3))
          for (const reference of resource.references) {
            const body = { ...walk.input(operation, resource), ...gone(reference) };
            expect((await send({ method: 'POST', path: operation.path, body })).status).toBe(409);
          }
      });

      test('a key that named another write is refused', async () => {
        const headers = { 'Idempotency-Key': 'one' };
        const transaction = described.operation('POST', '/transaction');
        const { example: body } = transaction.operation.requestBody.content['application/json'];
        expect((await described.send(transaction, { body, headers })).status).toBe(200);
        for (const operation of described.operations) {
          const resource = walk.resourceOf(operation);
          if (operation.method === 'GET' || operation.path === '/graphql') continue;
          const key = String(resource && walk.key(resource));
          const { operations } = body;
          const other = resource ? { a: 1 } : { operations: [...operations, { ...operations[0], as: 'b' }] };
          const { status } = await described.send(operation, { key, body: other, headers });
          expect([operation.pointer, status]).toEqual([operation.pointer, 422]);
        }
      });

      test('conflicts are answered as declared', async () => {
        for (const { operation, resource } of walk.operations('POST', 'list')) {
          const input = walk.input(operation, resource);
          await described.send(operation, { body: input });
          const again = await described.send(operation, { body: input });
          const isTaken = resource.uniques.length > 0 || resource.key.origin.by === 'client';
          if (isTaken) expect([operation.path, again.status]).toEqual([operation.path, 409]);
          const upsert = operation.operation.parameters.find(({ name }: any) => name === 'upsert');
          for (const upserted of upsert?.schema.enum ?? []) {
            const changed = await described.send(operation, { body: input, query: `upsert=${upserted}` });
            expect([operation.path, upserted, changed.status]).toEqual([operation.path, upserted, 200]);
          }
          for (const reference of resource.references) {
            expect((await walk.create(resource, gone(reference))).status).toBe(409);
            const put = walk.find('PUT', resource);
            const key = String(walk.key(resource));
            if (put) expect((await described.send(put, { key, body: gone(reference) })).status).toBe(409);
          }
          for (const { name: list, target, reference } of resource.inverses) {
            const { [reference.column.name]: _, ...nested } = walk.input(
              described.operation('POST', `/${target.path}`),
              target,
            );
            for (const other of target.references.filter((each) => each !== reference)) {
              const made = await walk.create(resource, { [list]: [{ ...nested, ...gone(other) }] });
              expect([operation.path, list, made.status]).toEqual([operation.path, list, 409]);
            }
          }
        }
        for (const { operation, resource } of walk.operations('PUT', 'one')) {
          const [first, second] = [await walk.create(resource), await walk.create(resource)];
          for (const { columns } of resource.uniques) {
            const body = Object.fromEntries(columns.map(({ name: field }) => [field, first.body[field]]));
            const key = String(second.body[resource.key.name]);
            expect((await described.send(operation, { key, body })).status).toBe(409);
          }
          for (const column of incrementable(resource)) {
            const key = String(first.body[resource.key.name] ?? walk.key(resource));
            const body = { _inc: { [column.name]: mostOf(column) } };
            // The second finds no room for it at the latest.
            await described.send(operation, { key, body });
            const again = await described.send(operation, { key, body });
            expect([operation.path, column.name, again.status]).toEqual([operation.path, column.name, 409]);
          }
        }
      });

      test('what others point to stays, and the rest can go', async () => {
        for (const { operation, resource } of walk.operations('DELETE', 'one').toReversed()) {
          const created = await walk.create(resource);
          const key = created.status === 201 ? created.body[resource.key.name] : walk.key(resource);
          for (const { owner, column } of resource.pointedAtBy.filter((reference) => reference.owner.rest)) {
            const pointing = await walk.create(owner, { [column.name]: key });
            expect((await described.send(operation, { key: String(key) })).status).toBe(409);
            const own = String(pointing.body[owner.key.name]);
            const remove = described.operation('DELETE', `/${owner.path}/{${owner.key.name}}`);
            expect((await described.send(remove, { key: own })).status).toBe(204);
            walk.forget(owner, pointing.body[owner.key.name]);
          }
          expect((await described.send(operation, { key: String(key) })).status).toBe(204);
          walk.forget(resource, key);
        }
      });

      test('every status that it declares has been answered, failures of the machine aside', () => {
        const declared = described.operations.flatMap(({ method, path, operation }) =>
          Object.entries<any>(operation.responses)
            // What all operations on records can be answered with is declared once.
            .filter(([status]) => status !== 'default')
            .map(([status]) => `${method} ${path} ${status}`),
        );
        expect(declared.filter((each) => !described.seen.has(each) && !unprovoked.test(each))).toEqual([]);
      });
    });

test('without introspection there is no description', async () => {
  const app = await openApp('sqlite', { ...shipped, env: { INTROSPECTION: 'off' } });
  expect((await app.rest('GET', '/openapi.json')).status).toBe(404);
  await app.close();
});

/** The parameters that an operation cannot do without, as its examples have them. */
function needed({ operation }: DescribedOperation): string {
  const required = (operation.parameters ?? []).filter(({ required }: any) => required);
  return String(new URLSearchParams(required.map(({ name, example }: any) => [name, example])));
}
