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
import type { Column, Enum, Field, Model, Resource } from '../schema/model.ts';
import { filterTypeName, ownFilters } from '../schema/names.ts';
import { Serial } from '../schema/scalars.ts';
import { canBeHidden, graphqlTypeName } from '../schema/values.ts';
import { genericTypes } from './generics.ts';
import { inputTypes } from './inputs.ts';
import {
  fieldOf,
  givenList,
  interfaceOf,
  leafType,
  listOf,
  literals,
  Names,
  type Property,
  toldOf,
  typeOf,
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
    return [...this.each()].join('\n');
  }

  /** One after another: there may be thousands. */
  *each(): Generator<string> {
    for (const each of this.#model.enums) yield enumType(each);
    for (const resource of this.resources) yield* this.ofResource(resource);
    yield* this.#filters();
    yield genericTypes(this.names);
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
      ...inputTypes(resource, this),
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
      ...resource.columns.map((column) => fieldOf(column, this.value(column), canBeHidden(column))),
      ...computed,
      { name: resource.version.name, type: 'number' },
    ];
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
}

function enumType({ name, values, description, deprecated }: Enum): string {
  return typeOf(name, literals(values.map((each) => each.name)), toldOf({ description, deprecated }));
}
