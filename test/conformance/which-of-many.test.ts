/** Which of many records a write of them was refused for: the fault has its key, where the caller sees that record. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, openApp } from '../app.ts';
import { headersOf, SECRET } from './access-matrix.ts';

const sdl = `
  enum State { NEW PAID SHIPPED }
  type Bill @resource
    @allow(to: [READ, UPDATE, DELETE], where: { owner: { eq: { claim: "sub" } } })
    @check(where: { due: { gte: { field: "made" } } }, message: "Due after it was made.")
  {
    id: ID!
    owner: String!
    made: Date!
    due: Date!
    state: State! @default(value: NEW) @transitions(allow: { NEW: [PAID], PAID: [SHIPPED] })
    stock: Int! @default(value: 1) @constraint(min: 0)
    lines: [Line!]!
    copies: [Bill!]! @inverse(of: "original")
    original: Bill @onDelete(do: CASCADE)
  }
  type Line @resource @allow(to: [READ]) { id: ID!  bill: Bill }
  type Pet @resource @allow(to: [READ, UPDATE, DELETE]) { code: String! @key  name: String! }`;

const logic = {
  Pet: {
    beforeUpdate({ input, record, refuse }: any) {
      if (record.name === 'Rex') throw refuse('Rex keeps his name.', 'name');
      return input;
    },
    beforeDelete({ record, refuse }: any) {
      if (record.name === 'Rex') throw refuse('Rex stays.');
    },
  },
};

const bill = { owner: 'ann', made: '2026-01-01', due: '2026-02-01' };
const data = {
  bills: [
    { id: 1, ...bill, stock: 5 },
    { id: 2, ...bill, made: '2026-01-20', due: '2026-02-01' },
    { id: 3, ...bill, made: '2026-01-21', state: 'PAID', stock: 5 },
    { id: 4, ...bill, owner: 'bob', made: '2026-01-31' },
    { id: 5, ...bill, stock: 5 },
    { id: 6, ...bill, owner: 'bob', originalId: 5 },
  ],
  lines: [{ billId: 3 }, { billId: 3 }, { billId: 1 }, { billId: 4 }, { billId: 6 }],
  pets: [
    { code: 'a/1', name: 'Tom' },
    { code: 'b/2', name: 'Rex' },
  ],
};

const ann = await headersOf({ name: 'which of many', claims: { sub: 'ann' } });

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  beforeAll(async () => {
    app = await openApp(database, { sdl, data, logic, env: { AUTH_SECRET: SECRET } });
  });
  afterAll(() => app.close());

  const faults = (errors: any[], prefix = '') =>
    errors.map(({ pointer, code, key }) => [pointer.replace(prefix, ''), code, key]);
  const sent = async (operation: object) => {
    const { body } = await app.rest('POST', '/transaction', { operations: [operation] }, ann);
    return { code: body.code, detail: body.detail, faults: faults(body.errors, '/operations/0/body') };
  };
  const asked = async (mutation: string) => {
    const { errors } = await app.graphql(mutation, {}, ann);
    const { code, errors: told } = errors?.[0].extensions ?? {};
    return { code, detail: errors?.[0].message, faults: faults(told) };
  };
  const where = { id: { in: [1, 2, 3, 4] } };
  const written = 'where: { id: { in: [1, 2, 3, 4] } }, atMost: 9';

  test.each([
    [
      'a check',
      { method: 'PUT', path: '/bills', where, atMost: 9, body: { due: '2026-01-10' } },
      `mutation { updateBills(${written}, set: { due: "2026-01-10" }) { id } }`,
      'VALIDATION_FAILED',
      'Due after it was made.',
      // The fourth is not seen, and so it is not written.
      [
        ['#', 'CHECK_FAILED', '2'],
        ['#', 'CHECK_FAILED', '3'],
      ],
    ],
    [
      'states',
      { method: 'PUT', path: '/bills', where, atMost: 9, body: { state: 'NEW' } },
      `mutation { updateBills(${written}, set: { state: NEW }) { id } }`,
      'CONFLICT',
      undefined,
      [['#/state', 'TRANSITION_NOT_ALLOWED', '3']],
    ],
    [
      'numbers',
      { method: 'PUT', path: '/bills', where, atMost: 9, body: { _inc: { stock: -2 } } },
      `mutation { updateBills(${written}, set: { _inc: { stock: -2 } }) { id } }`,
      'CONFLICT',
      'stock must be 0 or more, and would be -1 in bill 2.',
      [['#/_inc/stock', 'OUT_OF_RANGE', '2']],
    ],
    [
      'a function',
      { method: 'PUT', path: '/pets', where: {}, atMost: 9, body: { name: 'Kim' } },
      'mutation { updatePets(where: {}, atMost: 9, set: { name: "Kim" }) { code } }',
      'VALIDATION_FAILED',
      'Rex keeps his name.',
      [['#/name', 'REFUSED', 'b/2']],
    ],
    [
      'a function, of a delete',
      { method: 'DELETE', path: '/pets', where: {}, atMost: 9 },
      'mutation { deletePets(where: {}, atMost: 9) { code } }',
      'VALIDATION_FAILED',
      'Rex stays.',
      [['#', 'REFUSED', 'b/2']],
    ],
    [
      'records that refer to them',
      { method: 'DELETE', path: '/bills', where, atMost: 9 },
      `mutation { deleteBills(${written}) { id } }`,
      'CONFLICT',
      'A line still refers to this bill as its bill. Delete or change it first.',
      [
        ['#', 'STILL_REFERENCED', '1'],
        ['#', 'STILL_REFERENCED', '3'],
      ],
    ],
    [
      'records that refer to what goes along, which is not seen',
      { method: 'DELETE', path: '/bills', where: { id: { eq: 5 } }, atMost: 9 },
      'mutation { deleteBills(where: { id: { eq: 5 } }, atMost: 9) { id } }',
      'CONFLICT',
      'A line still refers to this bill as its bill. Delete or change it first.',
      [['#', 'STILL_REFERENCED', undefined]],
    ],
  ])('%s', async (_, operation, mutation, code, detail, told) => {
    const rest = await sent(operation);
    expect(rest).toMatchObject({ code, faults: told });
    if (detail) expect(rest.detail).toEndWith(detail);
    const graphql = await asked(mutation);
    expect(graphql).toMatchObject({ code, faults: told });
    if (detail) expect(graphql.detail).toBe(detail);
  });

  test('a write of one record is about that one, and names no other', async () => {
    const { body } = await app.rest('PUT', '/bills/2', { due: '2026-01-10' }, ann);
    expect(body.errors).toEqual([{ pointer: '#', code: 'CHECK_FAILED', detail: 'Due after it was made.' }]);
    const deleted = await app.rest('DELETE', '/bills/1', undefined, ann);
    expect(deleted.body.errors[0]).not.toHaveProperty('key');
  });
});
