/** What can be done to a database so that it becomes what a file asks for, and how each step is told and remembered. */

import type { Column, Reference, Resource } from '../../schema/model.ts';
import { graphqlTypeName, scaleOf } from '../../schema/values.ts';
import type { Derived } from '../derived.ts';
import type { Widening } from './database.ts';
import { creation } from './history.ts';
import type { IndexPlan } from './tables.ts';

export type Step =
  | { readonly do: 'create table'; readonly resource: Resource }
  | { readonly do: 'keep words'; readonly resource: Resource }
  | { readonly do: 'add reference'; readonly reference: Reference }
  | { readonly do: 'add column'; readonly resource: Resource; readonly column: Column }
  | { readonly do: 'fill'; readonly resource: Resource; readonly column: Column }
  | Widening
  | { readonly do: 'allow null'; readonly table: string; readonly column: string }
  | { readonly do: 'forbid null'; readonly resource: Resource; readonly column: Column }
  | {
      readonly do: 'create index';
      readonly index: IndexPlan;
      readonly rebuild: boolean;
      readonly live: boolean;
    }
  | { readonly do: 'drop index'; readonly index: IndexPlan }
  /** Gives records that were there before what is kept beside them. */
  | { readonly do: 'mend'; readonly derived: Derived }
  /** Older nodes answer writes to the table with SCHEMA_OUTDATED from then on. */
  | { readonly do: 'raise'; readonly table: string };

export function describe(step: Step): string {
  const at = (table: string, column: Column | string) =>
    `${table}.${typeof column === 'string' ? column : column.stored}`;
  switch (step.do) {
    case 'create table':
      return creation(step.resource.table);
    case 'keep words':
      return `index the words of ${step.resource.table} (${step.resource.searched.map(({ stored }) => stored).join(', ')}) for searches`;
    case 'add reference':
      return `add foreign key ${at(step.reference.owner.table, step.reference.column)} to ${step.reference.target.table}`;
    case 'create index':
      return `create ${describeIndex(step.index)}`;
    case 'drop index':
      return `drop ${describeIndex(step.index)}`;
    case 'allow null':
      return `allow null in ${at(step.table, step.column)}`;
    case 'add column':
      return `add column ${at(step.resource.table, step.column)}`;
    case 'widen':
      return `widen ${at(step.resource.table, step.column)} from ${typeName(step.from)} to ${typeName(step.column)}`;
    case 'fill':
      return `fill ${at(step.resource.table, step.column)} with its default`;
    case 'mend':
      return step.derived.work;
    case 'raise':
      return `refuse writes to ${step.table} from older nodes`;
    case 'forbid null':
      return `forbid null in ${at(step.resource.table, step.column)}`;
  }
}

/** As the file writes it, without its `!`. */
export function typeName(column: Column): string {
  const name = column.reference ? column.reference.target.name : graphqlTypeName(column);
  if (column.list) return `[${name}!]`;
  return name === 'Decimal' ? `${name} @decimal(scale: ${scaleOf(column)})` : name;
}

function describeIndex({ unique, resource, columns }: IndexPlan): string {
  return `${unique ? 'unique ' : ''}index on ${resource.table} (${columns.map(({ stored }) => stored).join(', ')})`;
}
