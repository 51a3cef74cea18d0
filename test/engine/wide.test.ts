/** Many records of a type of many columns: they are gone through while they are at hand, and others have their turn in between. */

import { jscDescribe } from 'bun:jsc';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { rewritten } from '../../src/base/rewritten.ts';
import { Budget } from '../../src/engine/budget.ts';
import { bytesOf } from '../../src/engine/sizes.ts';
import { validCreate } from '../../src/engine/write/validate.ts';
import type { Column, Resource } from '../../src/schema/model.ts';
import { decoded, decodersOf } from '../../src/storage/sql/codec.ts';
import { codecs } from '../../src/storage/sqlite/codecs.ts';
import { takenApart } from '../../src/storage/sqlite/given.ts';
import { stored } from '../../src/storage/sqlite/runner.ts';
import { packed, unpacked } from '../../src/storage/sqlite/wide-rows.ts';
import type { Row } from '../../src/storage/statements.ts';
import { type AppUnderTest, databases, openApp } from '../app.ts';
import { modelOf } from '../storage/deployment.ts';
import { CountedTurns } from './turns.ts';

const WIDE = 280;
const typeOf = (name: string, of: string, more = '') =>
  `type ${name} @resource { id: ID!  name: String!  ${more}  ${Array.from({ length: WIDE }, (_, at) => `c${at}: ${of}`).join(' ')} }`;

describe('nobody comes back to the first of thousands for each column', () => {
  const FEW = 16;

  /** How often it goes back by more than a few. */
  function returns(through: (rows: Row[]) => void): number {
    let count = 0;
    let last = 0;
    const look = (at: number) => {
      if (at < last - FEW) count++;
      last = at;
    };
    const rows = Array.from({ length: 1000 }, (_, at) => {
      const get = () => {
        look(at);
        return `"${'x'.repeat(20)}"`;
      };
      const set = () => {
        look(at);
        return true;
      };
      return new Proxy<Row>({}, { get, set });
    });
    through(rows);
    return count;
  }

  const columns = (type: string): readonly Column[] =>
    modelOf(typeOf('Wide', type)).resources[0]?.columns ?? [];
  const answering = (type: string) => ({ columns: columns(type), relations: [] });
  const limits = { objects: 10_000, bytes: 32 * 1024 * 1024 };

  const ways: Record<string, (rows: Row[]) => void> = {
    'numbers that are measured': (rows) => bytesOf(answering('Int'), rows),
    'numbers that are measured as they are written': (rows) => bytesOf(answering('Int'), rows, true),
    'texts that are measured': (rows) => bytesOf(answering('String'), rows),
    'texts that are measured as they are written': (rows) => bytesOf(answering('String'), rows, true),
    'texts that are spent of an answer': (rows) => new Budget(limits).spend(rows, answering('String')),
    'JSON that is spent of an answer': (rows) => new Budget(limits).spend(rows, answering('JSON')),
    'JSON that is read': (rows) => decoded(rows, decodersOf(codecs, columns('JSON'), false)),
    'values that are sent along': (rows) => takenApart(columns('String'), rows),
  };

  test.each(Object.entries(ways))('%s', (_, way) => {
    expect(returns(way)).toBeLessThan(4);
  });
});

describe('records of many columns share one shape', () => {
  const { resources } = modelOf(typeOf('Wide', 'String', 'plain: Boolean'));
  const [resource] = resources as [Resource];
  const input = Object.fromEntries(Array.from({ length: WIDE }, (_, at) => [`c${at}`, `${at}`]));
  const rows = Array.from({ length: 3 }, (_, at) => ({
    id: at,
    ...input,
    infinite: Number.NEGATIVE_INFINITY,
  }));
  const sent = (text: string) => unpacked(JSON.parse(text));
  const hasShape = (row: Row) => !jscDescribe(row).includes('Dictionary');

  test('of another process', () => {
    expect(sent(rewritten(packed(rows)))).toEqual(rows);
    expect(sent(rewritten(packed(rows))).every(hasShape)).toBe(true);
    expect(sent(JSON.stringify(packed([{ id: 1 }])))).toEqual([{ id: 1 }]);
    expect(sent(JSON.stringify(packed([])))).toEqual([]);
    expect(hasShape(JSON.parse(JSON.stringify(rows[0])))).toBe(false);
  });

  test('that are new, and as they are stored', () => {
    const { values } = validCreate(resource, { ...input, name: 'a' });
    const row = stored({ do: 'insert', resource, values, version: 1 }, 7);
    expect(row).toEqual({ ...input, name: 'a', plain: null, id: 7, _version: 1 });
    expect([values, row].map(hasShape)).toEqual([true, true]);
  });
});

describe.each([...databases])('on %s', (database) => {
  const MANY = 6000;
  let app: AppUnderTest;
  const turns = new CountedTurns();

  beforeAll(async () => {
    const rows = Array.from({ length: MANY }, (_, at) => ({ id: at + 1, name: 'a' }));
    app = await openApp(database, {
      sdl: `${typeOf('Wide', 'String', 'case: Case')} type Case @resource { id: ID!  wides: [Wide!]! }`,
      data: { wides: rows },
      around: turns.around,
    });
  });
  afterAll(() => app.close());
  beforeEach(() => {
    turns.count = 0;
  });

  const update = {
    method: 'PUT',
    path: '/wides?fields=id,name',
    where: {},
    body: { name: 'b' },
    atMost: MANY,
  };

  test('others have their turn while what many become is made of what they were', async () => {
    const { status, body } = await app.rest('POST', '/transaction', { operations: [update] });
    expect([status, body.results[0].body.length]).toEqual([200, MANY]);
    expect(body.results[0].body[MANY - 1]).toEqual({ id: MANY, name: 'b' });
    // All of them are answered with all that they have: there is nothing to let go.
    expect(turns.count).toBeGreaterThan(1);
  });

  test('and while what is not answered of those that are deleted is let go', async () => {
    const remove = { method: 'DELETE', path: '/wides?fields=id', where: { id: { gt: 10 } }, atMost: MANY };
    const { status, body } = await app.rest('POST', '/transaction', { operations: [remove] });
    expect([status, body.results[0].body.length]).toEqual([200, MANY - 10]);
    // Nothing else of it has turns.
    expect(turns.count).toBeGreaterThan(0);
  });

  // Of what is refused at its end, nothing else was done.
  const records = Array.from({ length: MANY }, (_, at) => ({ name: at < MANY - 1 ? 'a' : 1 }));
  test.each([
    [
      'of many that are created',
      '/transaction',
      { operations: [{ method: 'POST', path: '/wides', body: records }] },
      '#/operations/0/body',
    ],
    ['of many that are nested in another', '/cases', { wides: records }, '#/wides'],
  ])('and while the values %s are held against the schema', async (_, path, sent, place) => {
    const { status, body } = await app.rest('POST', path, sent);
    const fault = { pointer: `${place}/${MANY - 1}/name`, code: 'TYPE', detail: 'name must be a string' };
    expect([status, body.errors]).toEqual([400, [fault]]);
    expect(turns.count).toBeGreaterThan(1);
  });
});
