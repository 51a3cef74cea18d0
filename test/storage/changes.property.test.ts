/** A text that is kept for changes of the same columns is the one that each of them would be given, with its parameters. */

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { all, among, equal, type Filter, not } from '../../src/query/filter.ts';
import type { Column, Resource } from '../../src/schema/model.ts';
import { readSchema } from '../../src/schema/read.ts';
import { updatable } from '../../src/schema/values.ts';
import { dialect as postgres } from '../../src/storage/postgres/dialect.ts';
import { Compiler } from '../../src/storage/sql/compile.ts';
import { dialect as sqlite } from '../../src/storage/sqlite/dialect.ts';
import type { Delete, Update } from '../../src/storage/statements.ts';

const { model } = readSchema(`
  type Item @resource {
    id: ID!
    name: String @caseless
    code: String @column(name: "a = b + c")
    whole: Int
    price: Decimal @decimal(scale: 2)
    any: JSON
    changedAt: DateTime! @updatedAt
  }
  type Page @resource @search(fields: ["title", "text"]) { code: ID! @key  title: String  text: String  views: BigInt }
`);
const resources = model?.resources ?? [];

function valueIn({ type, name }: Column, of: number): unknown {
  if (of === 0) return null;
  if (name === 'any') return { of };
  if (name === 'price') return `${of}.50`;
  return 'range' in type && type.range ? of : `ß${of}`;
}

const values = (maxLength: number) =>
  fc.array(fc.record({ at: fc.nat(8), of: fc.nat(3), adds: fc.boolean() }), { maxLength });

const change = fc
  .record({
    resource: fc.constantFrom(...resources),
    keys: fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 3 }),
    isList: fc.boolean(),
    given: values(3),
    room: values(1),
    ifVersion: fc.option(fc.integer({ min: 1, max: 9 }), { nil: undefined }),
    counts: fc.boolean(),
    isSilent: fc.boolean(),
    deletes: fc.boolean(),
  })
  .map(({ resource, keys, isList, given, room, ifVersion, counts, isSilent, deletes }): Update | Delete => {
    const columns = updatable(resource);
    const columnAt = (at: number) => columns[at % columns.length] as Column;
    const key = isList ? among(resource.key, keys) : equal(resource.key, keys[0]);
    const where = all([key, ...room.map(({ at, of, adds }) => roomIn(columnAt(at), of, adds))]);
    if (deletes) return { do: 'delete', resource, where };
    const set: Record<string, unknown> = {};
    const add: Record<string, unknown> = {};
    for (const { at, of, adds } of given) {
      const column = columnAt(at);
      const values = adds && 'range' in column.type && column.type.range ? add : set;
      values[column.name] = valueIn(column, of);
    }
    return {
      do: 'update',
      resource,
      set,
      add: Object.keys(add).length > 0 ? add : undefined,
      where,
      next: [nextOf(resource, keys[0], set)],
      ifVersion,
      counts,
      ...(isSilent && { isSilent: true }),
    };
  });

function roomIn(column: Column, of: number, adds: boolean): Filter {
  if (of === 0) return adds ? not({ is: 'null', column }) : { is: 'null', column };
  return { is: adds ? 'gte' : 'lte', column, value: valueIn(column, of) };
}

function nextOf({ key, searched }: Resource, value: unknown, set: Record<string, unknown>) {
  return { ...Object.fromEntries(searched.map(({ name }) => [name, 'x'])), [key.name]: value, ...set };
}

test.each([
  ['sqlite', sqlite],
  ['postgres', postgres],
] as const)('on %s', (_, dialect) => {
  const compiler = new Compiler(dialect);
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 20 }), (changes) => {
      for (const each of changes) {
        const writer = compiler.writer();
        const sql = writer.write(each);
        const { decoders, ...compiled } = compiler.compile(each);
        expect(compiled).toEqual({ sql, parameters: writer.conditions.parameters });
      }
    }),
    { numRuns: 300 },
  );
});
