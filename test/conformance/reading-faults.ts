/** Queries that are wrong in one way, and how both doors say so. */

import type { Column, Resource } from '../../src/schema/model.ts';
import { isScalar } from '../../src/schema/values.ts';
import type { ListRequest } from './reading-doors.ts';
import type { Sort, Where } from './reading-plain.ts';
import { isPlain } from './reading-queries.ts';
import { pick } from './reading-schemas.ts';

export interface Fault {
  readonly change: Partial<Pick<ListRequest, 'limit' | 'offset' | 'after' | 'before' | 'sort' | 'where'>>;
  /** The code inside `errors`. */
  readonly code: string;
  /** Whether GraphQL's own types refuse it, with codes of their own, before Duet sees it. */
  readonly typed: boolean;
}

/** `stray` is a cursor of another query of the same resource. */
export function faultOf(resource: Resource, choice: number, stray: string | undefined): Fault {
  const column = pick(resource.columns, choice >> 2);
  const faults: Fault[] = [
    ...wrongOperands(column).map(([operand, code, typed]) => where(column, 'eq', operand, code, typed)),
    where(column, isPlain(column) ? 'eq' : 'isNull', null, 'REQUIRED', false),
    where(column, 'isNull', 'true', 'TYPE', true),
    where(column, 'like', 'a', 'UNKNOWN', true),
    { change: { where: { [column.name]: null } }, code: 'TYPE', typed: false },
    { change: { where: { nothing: { eq: 1 } } }, code: 'UNKNOWN', typed: true },
    { change: { where: { not: null } }, code: 'TYPE', typed: false },
    { change: { where: { [column.name]: {} } }, code: 'REQUIRED', typed: false },
    { change: { where: { not: {} } }, code: 'REQUIRED', typed: false },
    { change: { where: { or: [] } }, code: 'REQUIRED', typed: false },
    { change: { where: { and: [{}] } }, code: 'REQUIRED', typed: false },
    { change: { where: { or: null } }, code: 'TYPE', typed: false },
    { change: { where: { and: [5] } }, code: 'TYPE', typed: true },
    ...resource.references.map(({ name }) => wrong({ [name]: null })),
    ...resource.inverses.flatMap(({ name }) => [wrong({ [name]: null }), wrong({ [name]: { some: null } })]),
    { change: { limit: 0 }, code: 'OUT_OF_RANGE', typed: false },
    { change: { limit: 50_001 }, code: 'OUT_OF_RANGE', typed: false },
    { change: { offset: -1 }, code: 'OUT_OF_RANGE', typed: false },
    { change: { offset: 1_000_000_000 }, code: 'OUT_OF_RANGE', typed: false },
    { change: { sort: [unknownSort(resource)] }, code: 'UNKNOWN', typed: true },
    { change: { after: 'nonsense' }, code: 'CURSOR', typed: false },
    { change: { before: '' }, code: 'CURSOR', typed: false },
    ...(stray === undefined
      ? []
      : (['after', 'before'] as const).map(
          (name): Fault => ({ change: { [name]: stray }, code: 'CURSOR', typed: false }),
        )),
  ];
  return inside(pick(faults, choice), choice);
}

function wrong(filter: Where): Fault {
  return { change: { where: filter }, code: 'TYPE', typed: false };
}

function where(column: Column, operator: string, operand: unknown, code: string, typed: boolean): Fault {
  return { change: { where: { [column.name]: { [operator]: operand } } }, code, typed };
}

/** Wherever a condition stands, its faults are told. */
function inside(fault: Fault, choice: number): Fault {
  const { where: filter } = fault.change;
  if (!filter || choice % 3 === 0) return fault;
  return {
    ...fault,
    change: { where: choice % 3 === 1 ? { not: filter } : { or: [{ and: [filter] }] } },
  };
}

function unknownSort({ key }: Resource): Sort {
  return { column: { ...key, name: 'nothing' }, descending: true };
}

function wrongOperands({ type, list }: Column): [unknown, string, boolean][] {
  if (list) return [];
  if (!isScalar(type)) return [['PURPLE', 'ENUM', true]];
  switch (type.stored) {
    case 'folded':
      return [];
    case 'serial':
      return [
        ['abc', 'TYPE', false],
        ['01', 'TYPE', false],
        [0, 'OUT_OF_RANGE', false],
        [-1, 'OUT_OF_RANGE', false],
      ];
    case 'integer':
      return [
        ['1', 'TYPE', true],
        [1.5, 'TYPE', true],
        [2 ** 31, 'OUT_OF_RANGE', true],
      ];
    case 'bigint':
      return [
        [1, 'TYPE', false],
        ['1.0', 'FORMAT', false],
        ['9223372036854775808', 'OUT_OF_RANGE', false],
      ];
    case 'decimal':
      return [
        [1, 'TYPE', false],
        ['1e1', 'FORMAT', false],
        [`0.${'1'.repeat(type.scale + 1)}`, 'FORMAT', false],
        ['-9223372036854775808000', 'OUT_OF_RANGE', false],
      ];
    case 'float':
      return [['1', 'TYPE', true]];
    case 'boolean':
      return [[1, 'TYPE', true]];
    case 'text':
    case 'words':
      return [
        ['a\0', 'TEXT', false],
        ['\ud800', 'TEXT', false],
        [true, 'TYPE', true],
      ];
    case 'time':
    case 'date':
    case 'uuid':
      return [
        ['2024-02-30', 'FORMAT', false],
        ['', 'FORMAT', false],
        [5, 'TYPE', false],
      ];
    case 'json':
      return [];
  }
}
