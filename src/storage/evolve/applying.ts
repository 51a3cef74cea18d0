/** Steps of an evolution → the SQL that carries them out. */

import { defaultOf } from '../../schema/values.ts';
import { quote } from '../sql/dialect.ts';
import type { Ddl, Widening } from './database.ts';
import type { Step } from './steps.ts';
import { createIndex, createTable, definitionOf, type IndexPlan, literalOf, required } from './tables.ts';

/** The statements that do it; what takes more than that is done elsewhere, and has none here. */
export function statements(step: Exclude<Step, Widening>, ddl: Ddl): string[] {
  switch (step.do) {
    case 'create table':
      return [createTable(step.resource, ddl)];
    case 'keep words':
      return ddl.keepWords(step.resource);
    case 'add reference':
      return ddl.addReference(step.reference);
    case 'add column': {
      const { resource, column } = step;
      // Without a default there is nothing to fill rows with; null is then forbidden by a step of its own.
      const fill = defaultOf(column) === undefined ? '' : required(column, ddl);
      const reference = column.reference ? ddl.inlineReference(column.reference) : '';
      return [
        `${alter(resource.table)} ADD COLUMN ${quote(column.stored)} ${definitionOf(column, ddl)}${fill}${reference}`,
      ];
    }
    case 'fill': {
      const name = quote(step.column.stored);
      const value = literalOf(step.column, defaultOf(step.column), ddl);
      const version = quote(step.resource.version.stored);
      const set = [`${name} = ${value}`, `${version} = ${version} + 1`];
      const { folded } = step.column;
      if (folded) set.push(`${quote(folded.stored)} = ${literalOf(folded, defaultOf(step.column), ddl)}`);
      return [`UPDATE ${quote(step.resource.table)} SET ${set.join(', ')} WHERE ${name} IS NULL`];
    }
    case 'allow null':
      return [`${alter(step.table)} ALTER COLUMN ${quote(step.column)} DROP NOT NULL`];
    case 'forbid null':
      return [`${alter(step.resource.table)} ALTER COLUMN ${quote(step.column.stored)} SET NOT NULL`];
    case 'create index':
      return [...(step.rebuild ? [dropIndex(step.index)] : []), createIndex(step.index, ddl, '')];
    case 'drop index':
      return [dropIndex(step.index)];
    case 'raise':
    case 'mend':
      return [];
  }
}

function dropIndex({ name }: IndexPlan): string {
  return `DROP INDEX ${quote(name)}`;
}

export function alter(table: string): string {
  return `ALTER TABLE ${quote(table)}`;
}
