/** Actions that answer with keys as clients gave them: a text names the record that it names everywhere else, or none. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, openApp } from '../app.ts';
import { headersOf, SECRET } from './access-matrix.ts';

const types = ['Item', 'Token', 'Word', 'Secret'] as const;
const actions = (type: string, root: string) => `
  ${root}One${type}(id: ID!): ${type} @action @allow
  ${root}Some${type}(ids: [ID!]!): [${type}!]! @action @allow
  ${root}Sure${type}(id: ID!): ${type}! @action @allow
`;
const sdl = `
  type Item @resource @allow(to: [READ]) { id: ID!  name: String! }
  type Token @resource @allow(to: [READ]) { id: UUID!  name: String! }
  type Word @resource @allow(to: [READ]) { id: String! @key  name: String! }
  type Secret @resource @allow(to: [READ], role: "admin") { id: ID!  name: String! }
  type Query { ${types.map((type) => `${actions(type, 'ask')} got${type}(id: ID!): ${type} @action @allow`).join(' ')} }
  type Mutation { ${types.map((type) => actions(type, 'act')).join('')} }
`;

const functions = (root: string) =>
  Object.fromEntries(
    types.flatMap((type) => [
      [`${root}One${type}`, (_: any, { id }: any) => id],
      // As a record of the caller's making.
      [`${root}Sure${type}`, (_: any, { id }: any) => ({ id })],
      [`${root}Some${type}`, (_: any, { ids }: any) => ids],
    ]),
  );
const gets = Object.fromEntries(
  types.map((type) => [
    `got${type}`,
    function* ({ tx }: any, { id }: any): any {
      return yield* tx[`${type.toLowerCase()}s`].get(id);
    },
  ]),
);
const logic = { Query: { ...functions('ask'), ...gets }, Mutation: functions('act') };

const TOKEN = '0b2d3c1e-5f60-4a7b-8c9d-0e1f2a3b4c5d';
const numbered = [1, 10, 16].map((id) => ({ id, name: `n${id}` }));
const data = {
  items: numbered,
  secrets: numbered,
  tokens: [{ id: TOKEN, name: 'token' }],
  words: [
    { id: '1', name: 'one' },
    { id: 'Ä b', name: 'text' },
  ],
};
/** What is named, by its name; null where nothing is. */
const named: Record<
  Exclude<(typeof types)[number], 'Secret'>,
  readonly (readonly [text: string, name: string | null])[]
> = {
  Item: [
    ['1', 'n1'],
    ['16', 'n16'],
    ...['01', ' 1 ', '1\n', '+1', '1.0', '1e1', '0x10', '', 'abc', '1.5', '-1', '0', '2'].map(
      (text) => [text, null] as const,
    ),
    ...['Infinity', 'NaN', '1e400', '9007199254740993', '9'.repeat(20)].map((text) => [text, null] as const),
  ],
  Token: [
    [TOKEN, 'token'],
    [TOKEN.toUpperCase(), 'token'],
    ...['', 'abc', '1', `{${TOKEN}}`, TOKEN.replaceAll('-', ''), ` ${TOKEN}`].map(
      (text) => [text, null] as const,
    ),
  ],
  Word: [
    ['1', 'one'],
    ['Ä b', 'text'],
    ...['', '01', 'ä b', '1 ', 'x'.repeat(2000)].map((text) => [text, null] as const),
  ],
};

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  beforeAll(async () => {
    app = await openApp(database, { sdl, logic, data, env: { AUTH_SECRET: SECRET } });
  });
  afterAll(() => app.close());

  const rest = async (action: string, args: object, headers = {}) => {
    const path = `/actions/${action.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    const texts = Object.entries(args).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]);
    const { body } = action.startsWith('act')
      ? await app.rest('POST', path, args, headers)
      : await app.rest(
          'GET',
          `${path}?${new URLSearchParams(Object.fromEntries(texts))}`,
          undefined,
          headers,
        );
    return body?.code ?? body;
  };
  const graphql = async (action: string, args: object, headers = {}) => {
    const [[name, value] = []] = Object.entries(args);
    const type = Array.isArray(value) ? '[ID!]!' : 'ID!';
    const root = action.startsWith('act') ? 'mutation' : 'query';
    const document = `${root}($v: ${type}) { found: ${action}(${name}: $v) { name } }`;
    const { data: found, errors } = await app.graphql(document, { v: value }, headers);
    return errors ? errors[0].extensions.code : found.found;
  };
  const doors = [
    ['REST', rest],
    ['GraphQL', graphql],
  ] as const;
  const asked = doors.flatMap(([door, ask]) =>
    (['ask', 'act'] as const).flatMap((root) => types.map((type) => [door, root, type, ask] as const)),
  );
  const nameOf = (answer: any): unknown =>
    Array.isArray(answer) ? answer.map(nameOf) : (answer?.name ?? answer);

  test.each(asked.filter(([, , type]) => type !== 'Secret'))(
    '%s, %s: a key of %s',
    async (_, root, type, ask) => {
      const cases = named[type as keyof typeof named];
      const [present] = cases[0] ?? [];
      for (const [text, name] of cases) {
        const told = [
          text,
          nameOf(await ask(`${root}One${type}`, { id: text })),
          nameOf(await ask(`${root}Sure${type}`, { id: text })),
          nameOf(await ask(`${root}Some${type}`, { ids: [text, text, present] })),
          nameOf(await ask(`${root}Some${type}`, { ids: [text, text] })),
          nameOf(await ask(`got${type}`, { id: text })),
        ];
        const often = name === null ? [] : [name, name];
        const sure = name ?? 'UNAUTHENTICATED';
        expect(told).toEqual([text, name, sure, [...often, cases[0]?.[1]], often, name]);
      }
      expect(app.observations.filter(({ event }) => event === 'failure')).toEqual([]);
    },
  );

  test.each(asked.filter(([, , type]) => type === 'Secret'))(
    '%s, %s: who may read none of a type is told the same of every text',
    async (_, root, type, ask) => {
      const who = await headersOf({ name: 'keys eve', claims: { sub: 'eve' } });
      const told = async (id: string) => [
        await ask(`${root}One${type}`, { id }, who),
        await ask(`${root}Sure${type}`, { id }, who),
        await ask(`${root}Some${type}`, { ids: [id, id] }, who),
      ];
      const there = await told('1');
      for (const text of ['2', '01', 'abc']) expect(await told(text)).toEqual(there);
    },
  );
});
