/** Random schemas, and rows that fit them, made from choices that shrink: every list of numbers means something. */

import fc from 'fast-check';
import type { Column, Model, Resource } from '../../src/schema/model.ts';
import { readSchema } from '../../src/schema/read.ts';
import { isScalar } from '../../src/schema/values.ts';

export type Row = Readonly<Record<string, unknown>>;

/** A deployment, and its rows in full, for whoever computes an answer without a database. */
export interface World {
  readonly sdl: string;
  readonly model: Model;
  readonly data: Readonly<Record<string, Row[]>>;
  readonly rows: ReadonlyMap<Resource, Row[]>;
  /** Makes what is stored and computed: it repeats another field. */
  readonly logic: object;
}

const seed = fc.nat({ max: 1_000_000 });

const resource = fc.record({
  oddName: fc.boolean(),
  key: fc.nat({ max: 3 }),
  columns: fc.array(
    fc.record({
      type: fc.nat({ max: 22 }),
      required: fc.boolean(),
      oddName: fc.boolean(),
      mark: fc.nat({ max: 5 }),
    }),
    { maxLength: 7, size: 'max' },
  ),
  references: fc.array(
    fc.record({ target: fc.nat({ max: 3 }), required: fc.boolean(), inverse: fc.boolean() }),
    { maxLength: 3, size: 'max' },
  ),
  /** How the first reference and the first column that an index can have are marked together. */
  pair: fc.nat({ max: 3 }),
  /** Which column a stored computed field repeats; beyond them there is none. */
  repeats: fc.nat({ max: 12 }),
  rows: fc.array(fc.array(seed, { minLength: 12, maxLength: 12 }), { maxLength: 12, size: 'max' }),
});

export type WorldChoices = readonly (typeof resource extends fc.Arbitrary<infer T> ? T : never)[];

export const worldChoices: fc.Arbitrary<WorldChoices> = fc.array(resource, {
  minLength: 1,
  maxLength: 4,
  size: 'max',
});

const names = ['Ant', 'Bee', 'Cat', 'Dog'];
/** Names that SQL text could mix up with its own. */
const oddNames = ['t1', 'listed', 'i', 'one'];
const keys = ['id: ID!', 'id: UUID!', 'code: ID! @key', 'name: String! @key'];
const types = [
  ...['String', 'Int', 'Float', 'Boolean', 'DateTime', 'Date', 'UUID', 'ID', 'Color', 'JSON'],
  ...['String', 'String', 'Int'],
  ...['[String!]', '[Color!]'],
  ...['BigInt', 'Decimal', 'Decimal', '[Decimal!]'],
  // Text without letter case.
  ...['Caseless', 'Caseless', 'Caseless', 'Caseless'],
];
/** What the types of columns are marked with, where an index can have them and equal values are equal texts. */
const marks = ['unique', 'index'];
const marked = new Set(['String', 'Int', 'DateTime', 'Date', 'UUID', 'ID', 'BigInt']);
const scales = [2, 0, 18, 1, 6, 2, 9];
/** Fields that are named like parameters, like words of SQL, or like properties of every object. */
const oddFields = ['limit', 'value', 'sort', 'count', 'select', 'constructor', 'where'];

export function worldOf(choices: WorldChoices): World {
  const sdl = sdlOf(choices);
  const { model, faults } = readSchema(sdl);
  if (!model) throw new Error(`${sdl}\n${faults.map(({ message }) => message).join('\n')}`);
  const rows = new Map<Resource, Row[]>(model.resources.map((each) => [each, []]));
  const keysOf = (of: Resource, index: number) =>
    choices[index]?.rows.map(([first = 0], position) => keyOf(of, first, position)) ?? [];
  const allKeys = new Map(model.resources.map((each, index) => [each, keysOf(each, index)]));
  model.resources.forEach((each, index) => {
    choices[index]?.rows.forEach((seeds, position) => {
      const row = rowOf(each, seeds, allKeys.get(each)?.[position], (target) =>
        // A required reference leads to a row that is there already; another may lead anywhere.
        model.resources.indexOf(target) < index
          ? (rows.get(target)?.map((far) => far[target.key.name]) ?? [])
          : (allKeys.get(target) ?? []),
      );
      const there = rows.get(each) ?? [];
      if (row && !isTaken(each, row, there)) there.push(row);
    });
  });
  withoutDangling(rows);
  return {
    sdl,
    model,
    rows,
    logic: Object.fromEntries(
      model.resources.flatMap(({ name, recomputed: [made] }) => {
        const of = made?.from[0]?.name ?? '';
        return made ? [[name, { [made.column.name]: (values: Row) => values[of] }]] : [];
      }),
    ),
    data: Object.fromEntries([...rows].map(([{ plural }, list]) => [plural, list])),
  };
}

function isTaken({ uniques }: Resource, row: Row, there: readonly Row[]): boolean {
  return uniques.some(({ columns }) =>
    there.some((other) => columns.every(({ name }) => row[name] !== null && row[name] === other[name])),
  );
}

/** Rows whose required target is missing were left out, so others may have lost theirs. */
function withoutDangling(rows: ReadonlyMap<Resource, Row[]>): void {
  for (const [{ references }, list] of rows)
    for (const { column, target } of references) {
      const there = new Set(rows.get(target)?.map((row) => row[target.key.name]));
      list.forEach((row, index) => {
        if (row[column.name] !== null && !there.has(row[column.name]))
          list[index] = { ...row, [column.name]: null };
      });
    }
}

function sdlOf(choices: WorldChoices): string {
  const nameOf = (index: number) => (choices[index]?.oddName ? oddNames : names)[index] ?? '';
  const inverses: string[][] = choices.map(() => []);
  const columnName = ({ type, oddName }: WorldChoices[number]['columns'][number], position: number) =>
    oddName ? oddFields[position] : `${types[type]?.replaceAll(/\W/g, '').toLowerCase()}${position}`;
  const fields = choices.map(({ key, columns, references, repeats }, index) => [
    keys[key] ?? '',
    ...columns.flatMap((column, position) => {
      const { type, required, mark } = column;
      const name = types[type] ?? '';
      const scale = name.includes('Decimal') ? ` @decimal(scale: ${scales[position]})` : '';
      const written = `${name.replace('Caseless', 'String')}${required ? '!' : ''}`;
      const caseless = name === 'Caseless' ? ' @caseless' : '';
      const called = columnName(column, position);
      const isMarked = marked.has(name) && marks[mark] ? ` @${marks[mark]}` : '';
      const computed = `repeated: ${written}${scale} @computed(from: ["${called}"], stored: true)`;
      return [
        `${called}: ${written}${scale}${caseless}${isMarked}`,
        ...(position === repeats ? [computed] : []),
      ];
    }),
    ...references.map(({ target: choice, required, inverse }, position) => {
      const target = choice % choices.length;
      // A circle of required references would be refused.
      const must = required && target < index;
      if (inverse)
        inverses[target]?.push(`far${index}${position}: [${nameOf(index)}!]! @inverse(of: "ref${position}")`);
      return `ref${position}: ${nameOf(target)}${must ? '!' : ''}`;
    }),
  ]);
  // Whatever has one reference each to two others joins them.
  choices.forEach(({ references }, join) => {
    const targets = references.map(({ target }) => target % choices.length);
    const ends = targets.filter((target) => targets.indexOf(target) === targets.lastIndexOf(target));
    for (const near of ends)
      for (const far of ends)
        if (near !== far)
          inverses[near]?.push(`via${join}${far}: [${nameOf(far)}!]! @through(type: "${nameOf(join)}")`);
  });
  const texts = fields.map((lines, index) => {
    const all = [...lines, ...(inverses[index] ?? [])].map((line) => `  ${line}\n`).join('');
    const { pair = 0, columns = [], references = [] } = choices[index] ?? {};
    const position = columns.findIndex(({ type }) => marked.has(types[type] ?? ''));
    const column = columns[position];
    const isPair = references.length > 0 && column && marks[pair];
    const together = isPair ? ` @${marks[pair]}(fields: ["ref0", "${columnName(column, position)}"])` : '';
    return `type ${nameOf(index)} @resource${together} {\n${all}}\n`;
  });
  return `enum Color { RED green Blue }\n${texts.join('')}`;
}

function rowOf(
  { columns, key }: Resource,
  seeds: readonly number[],
  keyValue: unknown,
  keysOf: (target: Resource) => readonly unknown[],
): Row | undefined {
  const row: Record<string, unknown> = { [key.name]: keyValue };
  for (const [index, column] of columns.entries()) {
    if (column === key) continue;
    if (column.madeOf) {
      row[column.name] = row[column.madeOf[0]?.name ?? ''];
      continue;
    }
    const choice = seeds[index + 1] ?? 0;
    // Even choices keep nullable columns filled most of the time.
    if (!column.required && choice % 5 === 4) row[column.name] = null;
    else if (column.reference) {
      const targets = keysOf(column.reference.target);
      if (targets.length === 0 && column.required) return undefined;
      row[column.name] = targets.length === 0 ? null : targets[choice % targets.length];
    } else row[column.name] = sample(column, choice);
  }
  return row;
}

/** The nth row's key: ascending or not, with gaps, and never twice. */
function keyOf({ key }: Resource, choice: number, position: number): unknown {
  if (key.origin.by === 'serial') return position * 2 + 1;
  if (key.origin.by === 'uuid')
    return `0190f5a0-7c1e-7a64-b3f5-${(choice * 100 + position).toString(16).padStart(12, '0')}`;
  const text = texts[choice % texts.length] ?? '';
  return `${text === '' || text === '.' ? '…' : text}${position}`;
}

/** Text that collations, wildcards, encodings and quoting could get wrong. */
export const texts = [
  ...['a', 'A', 'ab', 'aB', 'b', 'B', '', 'é', 'e\u0301', 'É', '%', '_', '\\', 'a%', 'a_b', '\\%'],
  ...[
    "'",
    '"',
    '""',
    'a,b',
    '{a}',
    '[a]',
    '.',
    ' ',
    'a ',
    '\n',
    '\u0001',
    '\u007f',
    'NULL',
    'true',
    '1',
    '-1',
  ],
  ...[
    '\ufeff',
    '\ufeffa',
    '\ud7ff',
    '\ue000',
    '\uffff',
    '😀',
    '😀a',
    'a😀',
    '\u{10ffff}',
    '\u{1f600}\u{10ffff}',
  ],
  ...['&x=1', 'a+b', '#', 'ß', 'ss', 'ﬁ', 'I', 'ı', 'i'],
];

/** Most texts are from here, so that some are equal, or would be to somebody careless. */
const alike = ['a', 'A', 'ab', 'aB', 'AB', 'a%', 'a_', ''];

/** Text whose letter case is more than a shift of the alphabet: few, so that many are the same but for it. */
const cased = ['ẞ', 'ss', 'İ', 'i\u0307', 'ΣΑΣ', 'σας', 'Σ', 'ς', 'É', 'e\u0301'];
const oddlyCased = [
  'aB',
  'AB',
  'SS',
  'ß',
  'I',
  'ı',
  'straẞe',
  'Straße',
  'σ',
  'ς',
  'ﬁ',
  'FI',
  'Ǆ',
  'ǅ',
  'ΐ',
  'Ϊ\u0301',
  '',
  '😀',
  '\uffff',
];

const days = [
  '2024-02-29',
  '1970-01-01',
  '1969-12-31',
  '0001-01-01',
  '9999-12-31',
  '1582-10-10',
  '2024-03-01',
];
const times = ['00:00:00.000', '23:59:59.999', '12:30:00.001', '12:30:00.100', '12:30:00.010'];
const floats = [0, 0.5, -0.5, 1, -1, 0.1, 0.30000000000000004, 1e21, -1e-7, 5e-324, 123456789.12345679, 1e15];
const integers = [0, 1, -1, 2, 3, 10, 100, 2 ** 31 - 1, -(2 ** 31)];
/** Units of the last digit, of which many a float has the same, and whose sums leave 64 bits on the way, or at the end. */
const units = [
  ...[0n, 1n, -1n, 5n, 10n, 100n, -250n, 99n],
  ...[
    2n ** 53n,
    2n ** 53n + 1n,
    2n ** 63n - 1n,
    1n - 2n ** 63n,
    2n ** 62n,
    -(2n ** 62n),
    2n ** 32n - 1n,
    -(2n ** 32n),
  ],
];
const documents = [{}, [], 0, 'a', true, { b: 1, a: [null, '😀'] }, [[1.5]]];

/** A value that a column can have; small choices are the plain ones. */
export function sample(column: Column, choice: number): unknown {
  if (!column.list) return itemOf(column, choice);
  return Array.from({ length: choice % 4 }, (_, index) => itemOf(column, choice + index));
}

function itemOf({ type, folded }: Column, choice: number): unknown {
  if (!isScalar(type)) return pick(type.values, choice).name;
  if (folded && choice % 4 > 0) return pick(choice % 4 > 1 ? cased : oddlyCased, choice >> 2);
  switch (type.stored) {
    case 'integer':
      return pick(integers, choice);
    case 'bigint':
      return String(choice % 23 === 22 ? -(2n ** 63n) : pick(units, choice));
    case 'decimal':
      return withPoint(pick(units, choice), type.scale);
    case 'float':
      // Beyond the list, numbers with as many digits as a float has.
      return choice % 3 === 2 ? (choice / 7919) * 10 ** ((choice % 30) - 15) : pick(floats, choice);
    case 'boolean':
      return choice % 2 === 0;
    case 'time':
      return `${pick(days, choice)}T${pick(times, choice >> 3)}Z`;
    case 'date':
      return pick(days, choice);
    case 'uuid':
      return `${'0f9'[choice % 3]}190f5a0-7c1e-7a64-b3f5-2b1f3c0e9a1${choice % 2}`;
    case 'json':
      return pick(documents, choice);
    case 'serial':
      return (choice % 20) + 1;
    case 'folded':
    case 'text':
    case 'words':
      return choice % 3 === 0 ? pick(texts, choice / 3) : pick(alike, choice);
  }
}

export function withPoint(units: bigint, scale: number): string {
  const digits = String(units)
    .replace('-', '')
    .padStart(scale + 1, '0');
  const text = scale === 0 ? digits : `${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
  return units < 0n ? `-${text}` : text;
}

export function pick<T>(from: readonly T[], choice: number): T {
  const found = from[choice % from.length];
  if (found === undefined) throw new Error('nothing to pick from');
  return found;
}
