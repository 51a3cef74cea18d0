/** The types of a Model in TypeScript, flat and written out: records, what creates and updates take, filters, orders and what
 * can be asked of groups. `duet types` and the typed client print them alike.
 *
 *     const types = new ModelTypes(model, { keys: 'number', sees: ({ rest }) => rest, throughReferences: true });
 *     types.all()                       // every declaration below, as one text without imports
 *     types.named(book, 'Where')        // the name of one of them, to be used in other declarations: "BookWhere"
 *
 * For a resource Book there are: Book (a whole record, with `_version`), BookKey, BookGuarded (what says which record and which
 * version of it), BookInput (of a create), BookInputWithoutAuthor (nested in its author), BookChanges (of an update), BookUpsert
 * and BookBy, BookWhere, BookOrder, BookPage (what a list takes), BookSelect, BookInclude, BookGraph (what those choose from),
 * BookAggregate and BookNumbers. How they go together, for a method that answers with `T`:
 *
 *     get<const S extends BookSelect | undefined = undefined, const I extends BookInclude | undefined = undefined>(
 *       key: BookKey, options?: Asked<BookGraph, S, I>): Chosen<BookGraph, S, I> | null
 *     list<…>(query?: BookPage & Asked<BookGraph, S, I>): Chosen<BookGraph, S, I>[]
 *     aggregate<const O extends BookAggregate>(options: O & Only<BookAggregate, O>): Aggregated<BookNumbers, O>[]
 */

import { aggregateFits, aggregateFunctions, isExact } from '../query/aggregates.ts';
import { isSortable, operators, operatorsOf } from '../query/operators.ts';
import { groupable } from '../query/parts.ts';
import type { Column, Enum, Field, Inverse, Model, Reference, Resource } from '../schema/model.ts';
import { filterTypeName, INCREMENTS, ownFilters } from '../schema/names.ts';
import { Serial } from '../schema/scalars.ts';
import { ADD, linkNames, REMOVE, writtenThrough } from '../schema/through.ts';
import {
  canBeHidden,
  creatable,
  graphqlTypeName,
  incrementable,
  isScalar,
  neededOnCreate,
  updatable,
} from '../schema/values.ts';
import {
  givenList,
  interfaceOf,
  listOf,
  literals,
  Names,
  type Property,
  toldOf,
  typeOf,
  union,
} from './print.ts';

export interface Spelling {
  /** How an integer key may be given: functions take texts too, JSON over HTTP takes numbers. */
  readonly keys: 'number' | 'number | string';
  /** A door that is closed to a resource does not lead to it. */
  readonly sees: (resource: Resource) => boolean;
  /** Whether lists can be ordered by fields of the records that references lead to. */
  readonly throughReferences: boolean;
}

type Part =
  | 'Key'
  | 'Guarded'
  | 'Input'
  | 'Changes'
  | 'Upsert'
  | 'By'
  | 'Increments'
  | 'Where'
  | 'ListWhere'
  | 'Order'
  | 'Page'
  | 'Query'
  | 'Shape'
  | 'Select'
  | 'Include'
  | 'Graph'
  | 'Aggregate'
  | 'Numbers';

export class ModelTypes {
  readonly names: Names;
  readonly resources: readonly Resource[];
  readonly #model: Model;
  readonly #spelling: Spelling;

  constructor(model: Model, spelling: Spelling) {
    this.#model = model;
    this.#spelling = spelling;
    this.names = new Names(model);
    this.resources = model.resources.filter(spelling.sees);
  }

  all(): string {
    const declared = [
      ...this.#model.enums.map(enumType),
      ...this.resources.flatMap((resource) => this.ofResource(resource)),
      ...this.#filters(),
      this.#common(),
    ];
    return declared.join('\n');
  }

  named(resource: Resource, part: Part): string {
    return this.names.of(resource.name, part);
  }

  /** A value as it is read. */
  value({ type, list, required }: Column): string {
    const one = leafType(type);
    return `${list ? listOf(one) : one}${required ? '' : ' | null'}`;
  }

  /** A value as it is given; `isNested`: as JSON has it, whatever else is understood. */
  given(column: Column, isNested = false): string {
    const one = isNested ? leafType(column.type) : this.leaf(column);
    return `${column.list ? givenList(one) : one}${column.required ? '' : ' | null'}`;
  }

  /** One value of a column as it is given. */
  leaf({ type }: Column): string {
    return type === Serial ? this.#spelling.keys : leafType(type);
  }

  ofResource(resource: Resource): string[] {
    const { name, key, version } = resource;
    return [
      interfaceOf(name, this.recordOf(resource), { told: toldOf(resource) }),
      typeOf(this.named(resource, 'Key'), this.leaf(key)),
      interfaceOf(
        this.named(resource, 'Guarded'),
        [
          { name: key.name, type: this.leaf(key), readonly: true },
          { name: version.name, type: 'number', readonly: true },
        ],
        { told: 'Which record, and as which version it was read.' },
      ),
      this.#input(resource),
      ...this.#nestedIn(resource).map((reference) => this.#input(resource, reference)),
      interfaceOf(this.named(resource, 'Changes'), this.changesOf(resource)),
      ...this.#increments(resource),
      this.#upsert(resource),
      typeOf(this.named(resource, 'By'), this.#by(resource)),
      this.#where(resource),
      interfaceOf(this.named(resource, 'ListWhere'), [
        { name: 'some', optional: true, type: this.named(resource, 'Where') },
        { name: 'none', optional: true, type: this.named(resource, 'Where') },
      ]),
      this.#order(resource),
      ...this.#shape(resource),
      ...this.#aggregate(resource),
    ];
  }

  recordOf(resource: Resource): Property[] {
    const computed = resource.computed.map(
      ({ column }): Property => ({
        name: column.name,
        type: this.value(column),
        optional: canBeHidden(column),
        told: toldOf(column),
      }),
    );
    return [
      ...resource.columns.map((column) => this.#property(column, this.value(column), canBeHidden(column))),
      ...computed,
      { name: resource.version.name, type: 'number' },
    ];
  }

  #property(column: Column, type: string, optional: boolean): Property {
    return { name: column.name, type, optional, told: toldOf(column) };
  }

  /** `known`: the reference that is set by what the record is nested in. */
  #input(resource: Resource, known?: Reference): string {
    const columns = creatable(resource).filter((column) => column !== known?.column);
    const nested = this.#nestable(resource).map(
      ({ name, target, reference }): Property => ({
        name,
        optional: true,
        type: `${givenList(this.#nestedName(reference))} | null`,
        told: `New ${target.plural} that point to it.`,
      }),
    );
    const properties = columns.map((column) =>
      this.#property(column, this.given(column, known !== undefined), !neededOnCreate(column)),
    );
    return interfaceOf(known ? this.#nestedName(known) : this.named(resource, 'Input'), [
      ...properties,
      ...nested,
      ...this.linksOf(resource),
    ]);
  }

  #nestedName({ owner, name }: Reference): string {
    return this.names.of(owner.name, `InputWithout${name[0]?.toUpperCase()}${name.slice(1)}`);
  }

  /** The references that lists lead back along: a new record can be nested in what they point to. */
  #nestedIn({ references, rest, operations }: Resource): readonly Reference[] {
    if (!rest || !operations.has('CREATE')) return [];
    return references.filter((reference) =>
      reference.target.inverses.some((inverse) => inverse.reference === reference),
    );
  }

  #nestable({ inverses }: Resource): readonly Inverse[] {
    return inverses.filter(({ reference }) => this.#nestedIn(reference.owner).includes(reference));
  }

  changesOf(resource: Resource): Property[] {
    const columns = updatable(resource).map((column) => this.#property(column, this.given(column), true));
    const countable = incrementable(resource);
    const increments: Property = {
      name: INCREMENTS,
      type: this.named(resource, 'Increments'),
      optional: true,
      told: 'Added to the numbers that are stored, without reading them first.',
    };
    return [...columns, ...this.linksOf(resource), ...(countable.length > 0 ? [increments] : [])];
  }

  #increments(resource: Resource): string[] {
    const properties = incrementable(resource).map(
      (column): Property => ({ name: column.name, type: leafType(column.type), optional: true }),
    );
    return properties.length > 0 ? [interfaceOf(this.named(resource, 'Increments'), properties)] : [];
  }

  /** Which records lists through join types lead to. */
  linksOf(resource: Resource): Property[] {
    return writtenThrough(resource).flatMap((through): Property[] => {
      const { ids, changes } = linkNames(through);
      const keys = givenList(leafType(through.target.key.type));
      return [
        { name: ids, type: keys, optional: true, told: `The keys of all that ${through.name} is to have.` },
        {
          name: changes,
          type: `{ ${ADD}?: ${keys}; ${REMOVE}?: ${keys} }`,
          optional: true,
          told: `What changes of ${through.name}; the rest of it stays.`,
        },
      ];
    });
  }

  #upsert(resource: Resource): string {
    const columns = creatable(resource).map((column) => this.#property(column, this.given(column), true));
    return interfaceOf(this.named(resource, 'Upsert'), [...columns, ...this.linksOf(resource)]);
  }

  /** Each set of fields that no two records have in common: one name, or a list of names. */
  #by({ key, uniques }: Resource): string {
    const sets = [[key], ...uniques.map(({ columns }) => columns)];
    const spelt = sets.map(([first, ...others]) =>
      others.length === 0
        ? `'${first?.name}'`
        : `readonly [${[first, ...others].map((column) => `'${column?.name}'`).join(', ')}]`,
    );
    return union([...new Set(spelt)]);
  }

  #where(resource: Resource): string {
    const self = this.named(resource, 'Where');
    const logic = ownFilters.map(
      (name): Property => ({ name, optional: true, type: name === 'not' ? self : givenList(self) }),
    );
    const fields = resource.fields.filter(this.#leadsOn).map((field): Property => {
      const type =
        field.kind === 'column'
          ? this.filterName(field)
          : this.named(field.target, field.kind === 'reference' ? 'Where' : 'ListWhere');
      return { name: field.name, optional: true, type };
    });
    return interfaceOf(self, [...fields, ...logic]);
  }

  readonly #leadsOn = (field: Field): boolean => field.kind === 'column' || this.#spelling.sees(field.target);

  filterName(column: Column): string {
    return this.names.of(filterTypeName(graphqlTypeName(column), operatorsOf(column)));
  }

  #filters(): string[] {
    const columns = new Map<string, Column>();
    for (const { columns: all } of this.resources)
      for (const column of all) columns.set(this.filterName(column), column);
    return [...columns].map(([name, column]) =>
      interfaceOf(
        name,
        operatorsOf(column).map((operator): Property => {
          const { operand, doc } = operators[operator];
          const one = this.leaf(column);
          const type = operand === 'flag' ? 'boolean' : operand === 'list' ? givenList(one) : one;
          return { name: operator, optional: true, type, told: doc };
        }),
      ),
    );
  }

  #order(resource: Resource): string {
    const direction = this.names.of('SortOrder');
    const fields = resource.fields.flatMap((field): Property[] => {
      const { name } = field;
      if (field.kind === 'column')
        return isSortable(field) ? [{ name, type: direction, optional: true }] : [];
      const leads = this.#spelling.throughReferences && field.kind === 'reference' && this.#leadsOn(field);
      return leads ? [{ name, type: this.named(field.target, 'Order'), optional: true }] : [];
    });
    return interfaceOf(this.named(resource, 'Order'), fields);
  }

  /** What a list takes, and what says how much of a record is wanted. */
  #shape(resource: Resource): string[] {
    const named = (part: Part) => this.named(resource, part);
    const related = this.#related(resource);
    const asked = related.map(({ field: { name, target }, one }): Property => {
      const type = `boolean | ${this.named(target, one ? 'Shape' : 'Query')}`;
      return { name, optional: true, type };
    });
    const own = this.recordOf(resource).map(
      ({ name }): Property => ({ name, optional: true, type: 'boolean' }),
    );
    const order = named('Order');
    const leads = related.map(({ field, one, isSure }) => {
      const target = this.named(field.target, 'Graph');
      return `${field.name}: ${one ? target : `[${target}]`}${isSure ? '' : ' | null'}`;
    });
    return [
      interfaceOf(named('Page'), [
        { name: 'where', type: named('Where'), optional: true },
        { name: 'orderBy', type: `${order} | ${givenList(order)}`, optional: true },
        { name: 'first', type: 'number', optional: true, told: 'How many at the most.' },
        { name: 'offset', type: 'number', optional: true, told: 'How many to leave out at the beginning.' },
      ]),
      interfaceOf(named('Shape'), [
        { name: 'select', type: named('Select'), optional: true },
        { name: 'include', type: named('Include'), optional: true },
      ]),
      interfaceOf(named('Query'), [], { base: `${named('Page')}, ${named('Shape')}` }),
      interfaceOf(named('Select'), [...own, ...asked]),
      interfaceOf(named('Include'), asked),
      interfaceOf(named('Graph'), [
        { name: 'fields', type: resource.name },
        { name: 'related', type: leads.length > 0 ? `{ ${leads.join('; ')} }` : '{}' },
      ]),
    ];
  }

  #related(resource: Resource) {
    return resource.fields.flatMap((field) => {
      if (field.kind === 'column' || !this.#leadsOn(field)) return [];
      return [{ field, one: field.kind === 'reference', isSure: field.required }];
    });
  }

  #aggregate(resource: Resource): string[] {
    const measured = aggregateFunctions.flatMap((of) => {
      if (of === 'count') return [];
      const columns = resource.columns.filter((column) => aggregateFits(of, column));
      return columns.length > 0 ? [{ of, columns }] : [];
    });
    const oneOrMany = (columns: readonly Column[]) => {
      const names = literals(columns.map(({ name }) => name));
      return `${names} | ${givenList(names)}`;
    };
    const groups = groupable(resource);
    const asked: Property[] = [
      { name: 'where', type: this.named(resource, 'Where'), optional: true },
      { name: 'groupBy', type: oneOrMany(groups), optional: true },
      { name: 'count', type: 'boolean', optional: true },
      ...measured.map(({ of, columns }) => ({ name: of, type: oneOrMany(columns), optional: true })),
    ];
    const result = (of: string, column: Column) => {
      if (of === 'countDistinct') return 'number';
      if (of === 'min' || of === 'max') return `${leafType(column.type)} | null`;
      return `${isExact(column) ? 'string' : 'number'} | null`;
    };
    const inner = (entries: readonly (readonly [string, string])[]) =>
      `{ ${entries.map(([name, type]) => `${name}: ${type}`).join('; ')} }`;
    const numbers: Property[] = [
      { name: 'by', type: inner(groups.map((column) => [column.name, this.value(column)])) },
      { name: 'count', type: 'number' },
      ...measured.map(({ of, columns }) => ({
        name: of,
        type: inner(columns.map((column) => [column.name, result(of, column)])),
      })),
    ];
    return [
      interfaceOf(this.named(resource, 'Aggregate'), asked),
      interfaceOf(this.named(resource, 'Numbers'), numbers),
    ];
  }

  /** What the others are written in terms of. */
  #common(): string {
    const [order, asked, chosen, picked, related, known, only, aggregated, one] = [
      'SortOrder',
      'Asked',
      'Chosen',
      'Picked',
      'Related',
      'Known',
      'Only',
      'Aggregated',
      'OneOf',
    ].map((name) => this.names.of(name));
    const graph = '{ fields: object; related: object }';
    return `export type ${order} = 'ASC' | 'DESC';

/** \`select\`: these fields and related records alone. \`include\`: related records beside all fields. */
export interface ${asked}<G extends ${graph}, S, I> {
  select?: S & ${known}<G, S>;
  include?: I & ${known}<G, I>;
}

/** What an answer has, by what was asked for. */
export type ${chosen}<G extends ${graph}, S, I> = [S] extends [object]
  ? ${picked}<G, S> & ([I] extends [object] ? ${picked}<G, I> : unknown)
  : G['fields'] & ([I] extends [object] ? ${picked}<G, I> : unknown);

export type ${picked}<G extends ${graph}, S> = {
  [K in keyof S as S[K] extends false | undefined ? never : K]: K extends keyof G['fields']
    ? G['fields'][K]
    : K extends keyof G['related']
      ? ${related}<G['related'][K], S[K]>
      : never;
};

export type ${related}<R, O> = R extends [infer G extends ${graph}]
  ? ${chosen}<G, O extends { select: infer S } ? S : undefined, O extends { include: infer I } ? I : undefined>[]
  : R extends ${graph}
    ? ${chosen}<R, O extends { select: infer S } ? S : undefined, O extends { include: infer I } ? I : undefined>
    : R;

/** Makes an error of names that there are not. */
export type ${known}<G extends ${graph}, S> = {
  [K in keyof S]: K extends keyof G['fields']
    ? unknown
    : K extends keyof G['related']
      ? S[K] extends object
        ? {
            [O in keyof S[K]]: O extends 'select' | 'include'
              ? ${known}<${one}<G['related'][K]>, S[K][O]>
              : O extends 'where' | 'orderBy' | 'first' | 'offset'
                ? unknown
                : never;
          }
        : unknown
      : never;
};

export type ${one}<R> = R extends [infer G extends ${graph}] ? G : R extends ${graph} ? R : never;

export type ${only}<A, O> = { [K in keyof O]: K extends keyof A ? unknown : never };

/** One row of an aggregate, by what was asked for. */
export type ${aggregated}<N extends { by: object; count: number }, O> = {
  [K in keyof O & keyof N]: K extends 'count'
    ? number
    : { [F in (O[K] extends readonly (infer L)[] ? L : O[K]) & keyof N[K]]: N[K][F] };
} & (O extends { groupBy: infer B }
  ? { by: { [F in (B extends readonly (infer L)[] ? L : B) & keyof N['by']]: N['by'][F] } }
  : unknown);
`;
  }
}

function enumType({ name, values, description, deprecated }: Enum): string {
  return typeOf(name, literals(values.map((each) => each.name)), toldOf({ description, deprecated }));
}

function leafType(type: Column['type']): string {
  if (!isScalar(type)) return type.name;
  switch (type.stored) {
    case 'serial':
    case 'integer':
    case 'float':
      return 'number';
    case 'boolean':
      return 'boolean';
    case 'json':
      return 'unknown';
    default:
      return 'string';
  }
}
