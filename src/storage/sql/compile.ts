/** Statement → SQL text and parameters, for any dialect. */

import type { Column } from '../../schema/model.ts';
import { storedColumns } from '../../schema/values.ts';
import {
  type Filled,
  PARENT,
  PLACEHOLDER,
  parentOf,
  type Query,
  type Select,
  type Statement,
} from '../statements.ts';
import { Changes } from './changes.ts';
import { type Decoders, decodersOf, decodersOfSums, readAs, weighing } from './codec.ts';
import type { Conditions } from './conditions.ts';
import { type Compiled, type Dialect, quote } from './dialect.ts';
import { Insertions } from './insertions.ts';
import { columnOf } from './joined.ts';
import { Writer } from './writer.ts';

/** A compiled Select whose open values are still to be filled in. */
export interface Template {
  readonly sql: string;
  readonly decoders: Decoders;
  readonly open: Conditions;
  /** Whether it answers with one record at the most, whose key is filled in. */
  readonly findsOne: boolean;
}

export function parametersOf({ open }: Template, value: unknown): readonly unknown[] {
  if (open.openAt === undefined) return open.parameters;
  const parameters = open.parameters.slice();
  parameters[open.openAt] = open.encode(value);
  return parameters;
}

const NONE: Decoders = [];

/** Columns as they are selected, and what is made of their values. */
interface Answered {
  readonly list: string;
  readonly decoders: Decoders;
  /** The same where JSON is passed on. */
  readonly passing: Decoders;
}

export class Compiler {
  readonly #dialect: Dialect;
  #templates = new WeakMap<Query, Template>();
  /** How often what had been made was forgotten. */
  forgotten = 0;
  readonly #insertions: Insertions;
  readonly #changes: Changes;
  readonly #known = new WeakMap<readonly Column[], Answered>();

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
    this.#insertions = new Insertions(dialect, (insert) => this.#compile(insert).sql);
    this.#changes = new Changes(dialect, (change) => {
      const { sql, open } = this.#compile(change);
      return { sql, parameters: open.parameters };
    });
  }

  /** What has been made of statements is made anew: it may hang on what is true of the database no longer. */
  forget(): void {
    this.#templates = new WeakMap();
    this.forgotten++;
  }

  compile(statement: Statement): Compiled {
    if (statement.do === 'filled') {
      const template = this.template(statement.select);
      const { sql, decoders } = template;
      return { sql, parameters: parametersOf(template, statement.value), decoders };
    }
    if (statement.do === 'insert') {
      const { sql, parameters } = this.#insertions.compile(statement);
      return { sql, parameters, decoders: this.#answered(storedColumns(statement.resource)).decoders };
    }
    if (statement.do === 'update' || statement.do === 'delete') {
      const { sql, parameters } = this.#changes.compile(statement);
      return { sql, parameters, decoders: this.#answered(answers(statement)).decoders };
    }
    const whole = statement.do === 'insert all' ? this.#insertions.compileWhole(statement) : undefined;
    if (whole) return { ...whole, decoders: NONE };
    const { sql, decoders, open } = this.#compile(statement);
    return { sql, decoders, parameters: open.parameters };
  }

  template(read: Query): Template {
    let template = this.#templates.get(read);
    if (!template) {
      template = this.#compile(read);
      this.#templates.set(read, template);
    }
    return template;
  }

  #compile(statement: Exclude<Statement, Filled>): Template {
    const writer = this.writer();
    const sql = writer.write(statement);
    const answered = this.#answered(answers(statement));
    const own = statement.do === 'select' ? decodersIn(statement, answered) : answered.decoders;
    const sums = statement.do === 'aggregate' ? decodersOfSums(this.#dialect.codecs, statement.measures) : [];
    const decoders = sums.length > 0 ? [...own, ...sums] : own;
    const findsOne = statement.do === 'select' && isByOpenKey(statement);
    return { sql, decoders, open: writer.conditions, findsOne };
  }

  writer(): Writer {
    return new Writer(this.#dialect, (columns, table) =>
      table === undefined ? this.#answered(columns).list : this.#qualified(columns, table),
    );
  }

  /** Beside another table that has columns of the same names. */
  #qualified(columns: readonly Column[], table: string): string {
    const { codecs } = this.#dialect;
    // Which record a row belongs to stands in no table.
    const from = (column: Column) => (column.stored === PARENT ? quote(PARENT) : columnOf(column, table));
    return columns
      .map((column) => `${readAs(codecs, column, from(column))} AS ${quote(column.name)}`)
      .join(', ');
  }

  /** Lists of columns are mostly made once. */
  #answered(columns: readonly Column[]): Answered {
    let answered = this.#known.get(columns);
    if (!answered) {
      const { codecs, selected } = this.#dialect;
      const list = columns.map((column) => {
        const read = readAs(codecs, column, selected(column));
        return read === quote(column.name) ? read : `${read} AS ${quote(column.name)}`;
      });
      const decoders = decodersOf(codecs, columns, false);
      answered = { list: list.join(', '), decoders, passing: decodersOf(codecs, columns, true) };
      this.#known.set(columns, answered);
    }
    return answered;
  }
}

function decodersIn(
  { passes, bytes, columns, uncounted }: Select,
  { decoders, passing }: Answered,
): Decoders {
  if (passes) return passing;
  if (bytes === undefined || decoders.length === 0) return decoders;
  return weighing(
    decoders,
    columns.filter((column) => !uncounted.includes(column)),
  );
}

function isByOpenKey({ where, resource: { key }, prefetch }: Select): boolean {
  const parts = where?.is === 'all' ? where.of : [where];
  return (
    prefetch.length === 0 &&
    parts.some((part) => part?.is === 'eq' && part.column === key && part.value === PLACEHOLDER)
  );
}

function answers(statement: Exclude<Statement, Filled>): readonly Column[] {
  if (statement.do === 'select') return statement.columns;
  if (statement.do === 'aggregate')
    return [
      ...(statement.per ? [parentOf(statement.per.column)] : []),
      ...statement.by,
      // Of the measures, the least and the greatest are values of their column.
      ...statement.measures.flatMap(({ as, of, column }) =>
        column && (of === 'min' || of === 'max') ? [{ ...column, name: as }] : [],
      ),
    ];
  const { resource } = statement;
  if (statement.do === 'stale words' || (statement.do === 'delete' && statement.tellsKeys))
    return [resource.key];
  if (statement.do === 'insert all') return statement.claims ? storedColumns(resource) : nothing;
  return ['insert', 'insert each', 'upsert', 'update', 'update each'].includes(statement.do)
    ? storedColumns(resource)
    : nothing;
}

const nothing: readonly Column[] = [];
