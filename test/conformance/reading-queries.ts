/** Random queries as choices that fit any schema: a field is the nth that there is, a value the nth of its column. */

import fc from 'fast-check';
import { groupable } from '../../src/query/parts.ts';
import type { Column, Inverse, Reference, Resource, Through } from '../../src/schema/model.ts';
import { type Scalar, scalars } from '../../src/schema/scalars.ts';
import { isScalar } from '../../src/schema/values.ts';
import type { Aggregates, Included, Part, Shape, Sort, Wanted, Where } from './reading-plain.ts';
import { pick, type Row, sample, type World, withPoint } from './reading-schemas.ts';

type Condition =
  | { readonly is: 'compare'; readonly field: number; readonly operator: number; readonly values: number[] }
  | { readonly is: 'all' | 'and' | 'or'; readonly of: readonly Condition[] }
  | { readonly is: 'not'; readonly of: Condition }
  | { readonly is: 'related' | 'some' | 'none'; readonly field: number; readonly of: Condition };

type GroupCondition =
  | {
      readonly is: 'compare';
      readonly of: number;
      readonly field: number;
      readonly operator: number;
      readonly values: number[];
    }
  | { readonly is: 'and' | 'or'; readonly of: readonly GroupCondition[] }
  | { readonly is: 'not'; readonly of: GroupCondition };

interface PartChoices {
  readonly where: Condition | undefined;
  readonly sort: readonly {
    readonly field: number;
    readonly descending: boolean;
    readonly through: readonly number[];
  }[];
  readonly limit: number | undefined;
  readonly offset: number | undefined;
}

interface ShapeChoices {
  readonly fields: readonly number[];
  readonly include: readonly (PartChoices & {
    readonly field: number;
    readonly shape: ShapeChoices;
    readonly after: number | undefined;
  })[];
}

export interface QueryChoices extends PartChoices {
  readonly kind: 'list' | 'one' | 'aggregate' | 'nested' | 'faulty';
  readonly resource: number;
  readonly shape: ShapeChoices;
  readonly count: boolean;
  /** Whether REST writes filters as parameters, as far as they can be. */
  readonly brackets: boolean;
  readonly groupBy: readonly number[];
  readonly aggregates: readonly { readonly of: number; readonly field: number }[];
  readonly having: GroupCondition | undefined;
  readonly ranking: readonly { readonly of: number; readonly field: number; readonly descending: boolean }[];
  /** Which fault, which record, and the like. */
  readonly choice: number;
}

const choice = fc.nat({ max: 1000 });
const few = { maxLength: 3, size: 'max' } as const;

const { condition } = fc.letrec<{ condition: Condition }>((tie) => ({
  condition: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    {
      weight: 6,
      arbitrary: fc.record({
        is: fc.constant('compare' as const),
        field: choice,
        operator: choice,
        values: fc.array(choice, { minLength: 1, ...few }),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        is: fc.constantFrom('all' as const, 'and' as const, 'or' as const),
        of: fc.array(tie('condition'), { minLength: 1, ...few }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ is: fc.constant('not' as const), of: tie('condition') }) },
    {
      weight: 2,
      arbitrary: fc.record({
        is: fc.constantFrom('related' as const, 'some' as const, 'none' as const),
        field: choice,
        of: tie('condition'),
      }),
    },
  ),
}));

const { groupCondition } = fc.letrec<{ groupCondition: GroupCondition }>((tie) => ({
  groupCondition: fc.oneof(
    { maxDepth: 2, withCrossShrink: true },
    {
      weight: 6,
      arbitrary: fc.record({
        is: fc.constant('compare' as const),
        of: choice,
        field: choice,
        operator: choice,
        values: fc.array(choice, { minLength: 1, ...few }),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        is: fc.constantFrom('and' as const, 'or' as const),
        of: fc.array(tie('groupCondition'), { minLength: 1, ...few }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ is: fc.constant('not' as const), of: tie('groupCondition') }) },
  ),
}));

const part = {
  where: fc.option(condition, { nil: undefined, freq: 6 }),
  sort: fc.array(
    fc.record({
      field: choice,
      descending: fc.boolean(),
      through: fc.array(choice, { maxLength: 3, size: 'max' }),
    }),
    few,
  ),
  limit: fc.option(fc.integer({ min: 1, max: 5 }), { nil: undefined, freq: 3 }),
  offset: fc.option(fc.integer({ min: 0, max: 5 }), { nil: undefined, freq: 2 }),
};

function shapes(depth: number): fc.Arbitrary<ShapeChoices> {
  const include =
    depth === 0
      ? fc.constant([])
      : fc.array(
          fc.record({
            ...part,
            field: choice,
            shape: shapes(depth - 1),
            after: fc.option(choice, { nil: undefined, freq: 2 }),
          }),
          { maxLength: 2, size: 'max' },
        );
  return fc.record({ fields: fc.array(choice, few), include });
}

export const queryChoices: fc.Arbitrary<QueryChoices> = fc.record({
  ...part,
  kind: fc.constantFrom(
    'list',
    'list',
    'list',
    'list',
    'one',
    'aggregate',
    'aggregate',
    'nested',
    'nested',
    'faulty',
  ),
  resource: choice,
  shape: shapes(2),
  count: fc.boolean(),
  brackets: fc.boolean(),
  groupBy: fc.array(choice, { maxLength: 2, size: 'max' }),
  aggregates: fc.array(fc.record({ of: choice, field: choice }), few),
  having: fc.option(groupCondition, { nil: undefined, freq: 2 }),
  ranking: fc.array(fc.record({ of: choice, field: choice, descending: fc.boolean() }), {
    maxLength: 2,
    size: 'max',
  }),
  choice,
});

/** Where the row at a position of a whole list stands. */
export type CursorAt = (
  resource: Resource,
  part: Pick<Part, 'where' | 'sort'>,
  position: number,
) => Promise<Included['after']>;

export class Resolver {
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  part(resource: Resource, { where, sort, limit, offset }: PartChoices): Part {
    return {
      where: where && this.#where(resource, where),
      sort: sort.map(({ field, descending, through }): Sort => {
        const references: Reference[] = [];
        let at = resource;
        for (const nth of through) {
          if (at.references.length === 0) break;
          const reference = pick(at.references, nth);
          references.push(reference);
          at = reference.target;
        }
        return { through: references, column: pick(at.columns.filter(isPlain), field), descending };
      }),
      limit,
      offset,
    };
  }

  async shape(resource: Resource, choices: ShapeChoices, cursorAt: CursorAt): Promise<Shape> {
    const columns = new Set(choices.fields.map((field) => pick(resource.columns, field)));
    const relations = [...resource.references, ...resource.inverses, ...resource.throughs];
    const include = new Map<string, Included>();
    for (const { field: nth, shape, after, ...part } of relations.length > 0 ? choices.include : []) {
      const field = pick(relations, nth);
      if (include.has(field.name)) continue;
      const inner = await this.shape(field.target, shape, cursorAt);
      const own = field.kind === 'reference' ? whole : this.part(field.target, part);
      const from =
        field.kind !== 'reference' && after !== undefined
          ? await cursorAt(field.target, own, after)
          : undefined;
      const offset = from ? undefined : own.offset;
      include.set(field.name, { field, shape: inner, ...own, offset, after: from });
    }
    return {
      columns: columns.size > 0 ? resource.columns.filter((each) => columns.has(each)) : undefined,
      include: [...include.values()],
    };
  }

  async aggregates(resource: Resource, choices: QueryChoices, cursorAt: CursorAt): Promise<Aggregates> {
    const { where, groupBy, aggregates, having, ranking, limit, offset } = choices;
    const wanted = aggregates.map((each) => wantedOf(resource, each, isNumeric, isNumeric));
    const by = [...new Set(groupBy.map((field) => pick(groupable(resource), field)))];
    // In REST that name is the number of records.
    const common = by.filter(({ name }) => name !== 'count');
    const { include } = await this.shape(resource, choices.shape, cursorAt);
    return {
      where: where && this.#where(resource, where),
      by,
      wanted: wanted.length > 0 ? wanted : [{ of: 'count', column: undefined }],
      having: having && this.#having(resource, having),
      sort: ranking.map(({ of, field, descending }) => ({
        by: of % 4 === 0 && common.length > 0 ? pick(common, field) : compared(resource, { of, field }),
        descending,
      })),
      limit,
      offset,
      include: include.flatMap(({ field, shape }) =>
        field.kind === 'reference' && by.includes(field.column) ? [{ field, shape }] : [],
      ),
    };
  }

  #having(resource: Resource, condition: GroupCondition): Where {
    switch (condition.is) {
      case 'and':
      case 'or':
        return { [condition.is]: condition.of.map((each) => this.#having(resource, each)) };
      case 'not':
        return { not: this.#having(resource, condition.of) };
      default: {
        const { of, column } = compared(resource, condition);
        const like = (type: string): Column => ({ ...resource.key, list: false, type: scalar(type) });
        const isValue = of === 'min' || of === 'max';
        const result = column && isValue ? column : like(of === 'sum' || of === 'avg' ? 'Float' : 'Int');
        const operator = pick(operatorsOf(result), condition.operator);
        const operand =
          isValue && column
            ? this.#operand(column, operator, condition.values)
            : this.#numbers({ of, column }, operator, condition.values);
        return { [of]: column ? { [column.name]: { [operator]: operand } } : { [operator]: operand } };
      }
    }
  }

  /** Numbers that a group could have: how many of a few, one of a row, the sum of two of them, or what lies between. */
  #numbers({ of, column }: Wanted, operator: string, values: readonly number[]): unknown {
    if (operator === 'isNull') return (values[0] ?? 0) % 2 === 0;
    const numbers = values.map((nth) => {
      if (!column || of === 'countDistinct') return nth % 4;
      const [one, other] = [this.#value(column, nth), this.#value(column, nth + 1)];
      if (typeof one === 'number')
        return of === 'avg' ? (one + Number(other)) / 2 : one + Number(other) * (nth % 2);
      // Of what a group can have, or of its neighbours, which a float would not tell apart.
      return added(column, String(one), nth % 2 === 0 ? '0' : String(other), BigInt((nth % 3) - 1));
    });
    return operator === 'in' ? numbers : numbers[0];
  }

  /** A condition on what is not there is a condition on the resource itself. */
  #where(resource: Resource, condition: Condition): Where {
    switch (condition.is) {
      case 'compare': {
        const column = pick(resource.columns, condition.field);
        const operator = pick(operatorsOf(column), condition.operator);
        return { [column.name]: { [operator]: this.#operand(column, operator, condition.values) } };
      }
      case 'all':
        return Object.assign({}, ...condition.of.map((each) => this.#where(resource, each)));
      case 'and':
      case 'or':
        return { [condition.is]: condition.of.map((each) => this.#where(resource, each)) };
      case 'not':
        return { not: this.#where(resource, condition.of) };
      default: {
        const { references, inverses, throughs } = resource;
        const fields = condition.is === 'related' ? references : [...inverses, ...throughs];
        if (fields.length === 0) return this.#where(resource, condition.of);
        const field = pick<Inverse | Through | Reference>(fields, condition.field);
        const atAll = field.kind !== 'reference' && condition.field % 5 === 0;
        const inner = atAll ? {} : this.#where(field.target, condition.of);
        return { [field.name]: condition.is === 'related' ? inner : { [condition.is]: inner } };
      }
    }
  }

  #operand(column: Column, operator: string, values: readonly number[]): unknown {
    if (operator === 'isNull' || operator === 'isEmpty') return (values[0] ?? 0) % 2 === 0;
    if (column.list) {
      const items = values.flatMap((value) => {
        const list = this.#value(column, value) as unknown[];
        return list.length > 0 ? [list[value % list.length]] : [];
      });
      return operator === 'has' ? (items[0] ?? sample({ ...column, list: false }, values[0] ?? 0)) : items;
    }
    if (operator === 'in') return values.map((value) => this.#value(column, value));
    const value = this.#value(column, values[0] ?? 0);
    if (operator !== 'contains' && operator !== 'startsWith' && operator !== 'endsWith') return value;
    // Now and then only a character of it, or that in another case.
    const characters = [...String(value)];
    const one = (operator === 'endsWith' ? characters.at(-1) : characters[0]) ?? '';
    const part = values.length > 1 ? one : String(value);
    return values.length > 2 ? part.toUpperCase() : part;
  }

  /** Mostly one that some row has. */
  #value(column: Column, nth: number): unknown {
    const owner = this.#world.model.resources.find(({ columns }) => columns.includes(column));
    const rows: readonly Row[] = (owner && this.#world.rows.get(owner)) ?? [];
    const there = rows.map((row) => row[column.name]).filter((value) => value !== null);
    const value = there.length > 0 && nth % 4 !== 3 ? pick(there, nth) : sample(column, nth);
    // Zeros at the end need not be written.
    return column.type.name === 'Decimal' && !column.list && nth % 2 === 1 ? shorter(String(value)) : value;
  }
}

/** The sum, and so many units of the last digit, where that fits. */
function added({ type }: Column, one: string, other: string, more: bigint): string {
  const scale = 'scale' in type ? Number(type.scale) : 0;
  const units = (text: string) => {
    const [whole, fraction = ''] = text.split('.');
    return BigInt(`${whole}${fraction.padEnd(scale, '0')}`);
  };
  const sum = units(one) + units(other) + more;
  return sum > -(2n ** 63n) && sum < 2n ** 63n ? withPoint(sum, scale) : one;
}

function wantedOf(
  resource: Resource,
  { of: nth, field }: { readonly of: number; readonly field: number },
  summed: (column: Column) => boolean,
  averaged: (column: Column) => boolean,
): Wanted {
  const sortable = resource.columns.filter(isPlain);
  const columns: Record<string, readonly Column[]> = {
    countDistinct: sortable,
    min: sortable,
    max: sortable,
    sum: sortable.filter(summed),
    avg: sortable.filter(averaged),
  };
  const of = pick(['count', ...Object.keys(columns).filter((each) => columns[each]?.length)], nth);
  return { of, column: of === 'count' ? undefined : pick(columns[of] ?? [], field) };
}

/**
 * What groups can be compared by. Sums of fractions are left out: databases add them in their own ways, so that only those
 * with few digits have the same sum everywhere.
 */
function compared(resource: Resource, choices: { readonly of: number; readonly field: number }): Wanted {
  const exact = resource.columns.filter(
    (column) => ['BigInt', 'Decimal'].includes(column.type.name) && !column.list,
  );
  // What is added up exactly is where databases differ most.
  if (choices.of % 3 === 0 && exact.length > 0) return { of: 'sum', column: pick(exact, choices.field) };
  return wantedOf(
    resource,
    choices,
    (column) => isNumeric(column) && column.type.name !== 'Float',
    (column) => isNumeric(column) && column.type.name === 'Int',
  );
}

function scalar(name: string): Scalar {
  return scalars.get(name) as Scalar;
}

function shorter(text: string): string {
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

const whole: Part = { where: undefined, sort: [], limit: undefined, offset: undefined };

export function isPlain({ list, type }: Column): boolean {
  return !list && type.name !== 'JSON';
}

export function isNumeric({ list, type }: Column): boolean {
  return !list && ['Int', 'Float', 'BigInt', 'Decimal'].includes(type.name);
}

/** What the contract lets one ask of a column. */
function operatorsOf(column: Column): string[] {
  if (column.list) return ['has', 'hasSome', 'hasEvery', 'isEmpty', 'isNull'];
  if (!isPlain(column)) return ['isNull'];
  const same = ['eq', 'ne', 'in', 'isNull'];
  if (!isScalar(column.type) || column.type.stored === 'boolean') return same;
  const ordered = [...same, 'gt', 'gte', 'lt', 'lte'];
  return column.type.stored === 'text' ? [...ordered, 'contains', 'startsWith', 'endsWith'] : ordered;
}
