/** `where` as clients write it → Filter, typed against the Model, with every fault reported. */

import { cited, type FaultCode, isFull } from '../base/errors.ts';
import type { Column, Field, Inverse, Resource, Through } from '../schema/model.ts';
import { ownFilters } from '../schema/names.ts';
import { didYouMean } from '../schema/suggest.ts';
import { isScalar } from '../schema/values.ts';
import { Claim } from './claim.ts';
import { all, any, FieldOperand, type Filter, not } from './filter.ts';
import { LONGEST_PART, MOST_VALUES, type OperatorName, operatorsOf } from './operators.ts';
import type { Groups, Results } from './results.ts';

/** Tells what is wrong and where: the path leads into the `where` object. */
export type WhereReport = (path: readonly (string | number)[], code: FaultCode, detail: string) => void;

/** A door's own spelling of a value, such as GraphQL's string for an integer key, → the value. */
export type Spelling = (column: Column, value: unknown) => unknown;

type Path = readonly (string | number)[];

/** What a filter is of: records, or groups of them. */
type Filtered = Resource | Groups;

/**
 * Less than what SQLite refuses: an expression whose tree is deeper than 1000, where the levels within a relation count
 * again for each relation around it.
 */
const MOST_CONDITIONS = 1000;
export const DEEPEST = 20;

export class WhereReader {
  readonly #spelling: Spelling;
  readonly #report: WhereReport;
  /** Where something was found to be wrong. */
  readonly #told: Path[] = [];
  /** A door that is closed to a resource does not lead there through filters either. */
  readonly #sees: (resource: Resource) => boolean;
  #conditions = 0;
  #depth = 0;

  constructor(spelling: Spelling, report: WhereReport, sees: (resource: Resource) => boolean) {
    this.#spelling = spelling;
    this.#report = (path, code, detail) => {
      this.#told.push(path);
      report(path, code, detail);
    };
    this.#sees = sees;
  }

  /** What is empty is everything: only a whole filter, and what `some` and `none` ask of a record, may be. */
  read(of: Filtered, where: unknown, path: Path = []): Filter {
    if (this.#isDone) return all([]);
    const called = 'table' in of ? 'where' : 'having';
    if (!isObject(where)) {
      this.#report(path, 'TYPE', `${called} must be an object of fields, and, or, not${awaited(where)}`);
      return all([]);
    }
    if (this.#exceeds(path)) return all([]);
    if (this.#depth >= DEEPEST) {
      this.#report(path, 'OUT_OF_RANGE', `${called} must not nest deeper than ${DEEPEST}`);
      return all([]);
    }
    this.#depth++;
    const filters = Object.entries(where).map(([name, value]) =>
      this.#entry(of, name, value, [...path, name]),
    );
    this.#depth--;
    return all(filters);
  }

  /** By way of a join type, it is two relations away. */
  #readList({ kind, target }: Inverse | Through, where: unknown, path: Path): Filter {
    const more = kind === 'through' ? 1 : 0;
    this.#depth += more;
    const filter = this.read(target, where, path);
    this.#depth -= more;
    return filter;
  }

  /** What follows is not read: nobody is told more of it. */
  get #isDone(): boolean {
    return this.#conditions > MOST_CONDITIONS || isFull(this.#told);
  }

  /** Told once, however many there are. */
  #exceeds(path: Path): boolean {
    if (++this.#conditions === MOST_CONDITIONS + 1)
      this.#report(path, 'OUT_OF_RANGE', `there must be at most ${MOST_CONDITIONS} conditions`);
    return this.#conditions > MOST_CONDITIONS;
  }

  /** One operator on one column. */
  compare(column: Column, name: string, value: unknown, path: Path): Filter | undefined {
    if (this.#exceeds(path)) return undefined;
    const allowed = operatorsOf(column);
    const operator = allowed.find((each) => each === name);
    if (!operator) {
      const cure = didYouMean(name, allowed) || ` There are: ${allowed.join(', ')}.`;
      this.#report(path, 'UNKNOWN', `"${cited(name)}" is no operator of ${column.name}.${cure}`);
      return undefined;
    }
    if (value === null) {
      this.#report(path, 'REQUIRED', `${column.name} ${operator} needs a value; use isNull to look for null`);
      return undefined;
    }
    if (value === undefined) return this.#notSent(path, `${column.name} ${operator}`);
    return this.#filter(column, operator, value, path);
  }

  /** A variable that was left out; without its condition the filter would match more than was asked for. */
  #notSent(path: Path, what: string): undefined {
    this.#report(path, 'REQUIRED', `${what} has no value, as its variable was not sent`);
    return undefined;
  }

  #sayingNothing(path: Path, name: string, cure: string): undefined {
    this.#report(path, 'REQUIRED', `${name} is empty; ${cure}, or leave it out`);
    return undefined;
  }

  /** A filter inside of another. */
  #part(of: Filtered, where: unknown, path: Path, name: string, cure: string): Filter {
    if (isEmpty(where)) this.#sayingNothing(path, name, cure);
    return this.read(of, where, path);
  }

  #entry(filtered: Filtered, name: string, value: unknown, path: Path): Filter | undefined {
    if (this.#isDone) return undefined;
    if (value === undefined) return this.#notSent(path, name);
    if (name === 'and' || name === 'or') {
      if (!Array.isArray(value)) {
        this.#report(path, 'TYPE', `${name} must be a list`);
        return undefined;
      }
      if (value.length === 0) return this.#sayingNothing(path, name, 'give it at least one filter');
      // A list that code has made can have holes, which `map` would pass over: they are filters that were not said.
      const of = [...value].map((each, index) =>
        this.#isDone
          ? all([])
          : this.#part(filtered, each, [...path, index], `a filter in ${name}`, 'say what must match'),
      );
      return name === 'and' ? all(of) : { is: 'any', of };
    }
    if (name === 'not')
      return { is: 'not', of: this.#part(filtered, value, path, name, 'say what must not match') };
    return this.#named(filtered, name, value, path);
  }

  /** What is asked of a field, or of what is computed of one. */
  #named(of: Filtered | Results, name: string, value: unknown, path: Path): Filter | undefined {
    if (this.#isDone) return undefined;
    if (value === undefined) return this.#notSent(path, name);
    const field = this.field<Field | Results>(of, name);
    if (!field) {
      const names = this.#names(of);
      const cure = didYouMean(name, names) || ` There are: ${names.join(', ') || 'none'}.`;
      const refused = 'refused' in of ? of.refused.get(name) : undefined;
      this.#report(path, 'UNKNOWN', refused ?? `"${cited(name)}" is no field of ${of.name}.${cure}`);
      return undefined;
    }
    if (field.kind === 'reference') {
      const cure = `say what must match, or ask ${field.column.name} for isNull: false`;
      return { is: 'related', field, where: this.#part(field.target, value, path, name, cure) };
    }
    const example = examples[field.kind];
    if (!isObject(value)) {
      this.#report(path, 'TYPE', `${field.name} must be an object such as ${example}`);
      return undefined;
    }
    if (isEmpty(value)) return this.#sayingNothing(path, field.name, `ask for something, such as ${example}`);
    const entries = Object.entries(value);
    if (field.kind === 'results')
      return all(entries.map(([inner, asked]) => this.#named(field, inner, asked, [...path, inner])));
    if (field.kind === 'column')
      return all(
        entries.map(([operator, operand]) => this.compare(field, operator, operand, [...path, operator])),
      );
    return all(
      entries.map(([quantifier, inner]): Filter | undefined => {
        if (this.#isDone) return undefined;
        const inside = [...path, quantifier];
        if (inner === undefined) return this.#notSent(inside, `${name} ${quantifier}`);
        const some = () => someOf(field, this.#readList(field, inner, inside));
        if (quantifier === 'some') return some();
        if (quantifier === 'none') return { is: 'not', of: some() };
        this.#report(
          inside,
          'UNKNOWN',
          `"${cited(quantifier)}" is not known of a list. There are: some, none.`,
        );
        return undefined;
      }),
    );
  }

  field<F extends Field | Results>(of: { fieldByName: ReadonlyMap<string, F> }, name: string): F | undefined {
    const field = of.fieldByName.get(name);
    return field && (!('target' in field) || this.#sees(field.target)) ? field : undefined;
  }

  #names(of: Filtered | Results): string[] {
    const seen = of.fields
      .filter(({ name }) => this.field<Field | Results>(of, name))
      .map(({ name }) => name);
    return 'refused' in of ? seen : [...seen, ...ownFilters];
  }

  #filter(column: Column, operator: OperatorName, value: unknown, path: Path): Filter | undefined {
    if (operator === 'isNull' || operator === 'isEmpty') {
      if (typeof value !== 'boolean') {
        this.#report(path, 'TYPE', `${column.name} ${operator} must be true or false`);
        return undefined;
      }
      const isNull: Filter = { is: 'null', column };
      if (operator === 'isNull') return value ? isNull : not(isNull);
      const empty: Filter = { is: 'empty', column };
      // Null is no list, so it is neither empty nor not.
      return value ? empty : not(any([isNull, empty]));
    }
    if (operator === 'has')
      return { is: 'hasSome', column, values: [this.#value(column, operator, value, path)] };
    if (operator === 'in' || operator === 'hasSome' || operator === 'hasEvery') {
      // The claim may be a list itself.
      const list = value instanceof Claim ? [value] : value;
      if (!Array.isArray(list)) {
        this.#report(path, 'TYPE', `${column.name} ${operator} must be a list`);
        return undefined;
      }
      if (list.length > MOST_VALUES) {
        this.#report(
          path,
          'OUT_OF_RANGE',
          `${column.name} ${operator} must have at most ${MOST_VALUES} values`,
        );
        return undefined;
      }
      const values = [...list].map((each, index) => this.#value(column, operator, each, [...path, index]));
      return { is: operator, column, values };
    }
    // Counted as constraints count: by characters, not by UTF-16 units.
    if (
      operator === 'contains' &&
      typeof value === 'string' &&
      [...value.slice(0, 2 * LONGEST_PART + 1)].length > LONGEST_PART
    )
      this.#report(path, 'LENGTH', `${column.name} contains must have at most ${LONGEST_PART} characters`);
    return { is: operator, column, value: this.#value(column, operator, value, path) };
  }

  #value(column: Column, operator: string, given: unknown, path: Path): unknown {
    if (given instanceof Claim || given instanceof FieldOperand || this.#isDone) return given;
    const value = this.#spelling(column, given);
    const report = (code: FaultCode, detail: string) =>
      this.#report(path, code, `${column.name} ${operator} ${detail}`);
    if (value === null) {
      report('REQUIRED', 'must not hold null; use isNull to look for null');
      return value;
    }
    const { type } = column;
    if (isScalar(type)) return type.check(value, report);
    if (!type.values.some(({ name }) => name === value))
      report(
        typeof value === 'string' ? 'ENUM' : 'TYPE',
        `must be one of ${type.values.map(({ name }) => name).join(', ')}`,
      );
    return value;
  }
}

const examples = {
  column: '{ eq: … }',
  inverse: '{ some: {…} }',
  through: '{ some: {…} }',
  results: '{ total: { gt: … } }',
} as const;

/** Of a list through a join type, some link is there that leads to such a record. */
function someOf(field: Inverse | Through, where: Filter): Filter {
  if (field.kind === 'inverse') return { is: 'some', field, where };
  return { is: 'some', field: field.links, where: { is: 'related', field: field.far, where } };
}

function isEmpty(value: unknown): boolean {
  return isObject(value) && Object.keys(value).length === 0;
}

function awaited(value: unknown): string {
  return value instanceof Promise ? '; this is a promise, await it' : '';
}

/** A plain one: a promise that was not awaited, or a Map, has no fields, and would mean everything. */
function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
