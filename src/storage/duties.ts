/** What whoever writes a table keeps true: a node whose file does not know of it may read the table, but not write it. */

import { checksOf } from '../query/checks.ts';
import { canonical } from '../query/filter.ts';
import type { Model, Resource } from '../schema/model.ts';
import { derivedOf } from './derived.ts';
import { duties } from './own.ts';
import { quote } from './sql/dialect.ts';
import type { Row, Statement, Table } from './statements.ts';

/** All that any table's writers keep true. */
export const LOOK = `SELECT "table", "duty" FROM ${quote(duties.table)}`;

const none: readonly string[] = [];
const known = new WeakMap<Resource, readonly string[]>();

/** As short texts: one that is changed is another one. */
export function dutiesOf(resource: Resource): readonly string[] {
  let found = known.get(resource);
  if (!found) {
    const checks = checksOf(resource).map(({ where }) => `check ${digest(canonical(where))}`);
    const transitions = resource.columns.flatMap(({ stored, transitions: allow }) =>
      allow ? [`transitions ${stored} ${digest(JSON.stringify([...allow]))}`] : [],
    );
    const journal = resource.journal ? ['journal'] : [];
    const derived = derivedOf(resource).map(({ duty }) => duty);
    const hooks = resource.hooks.map((name) => `hook ${name}`);
    found = [...new Set([...checks, ...transitions, ...derived, ...journal, ...hooks])];
    known.set(resource, found.length > 0 ? found : none);
  }
  return found;
}

function digest(text: string): string {
  return new Bun.CryptoHasher('sha256').update(text).digest('hex').slice(0, 16);
}

/** The tables that a newer file asks more of than this one knows, by the rows of `LOOK`. */
export function outdatedOf({ resources }: Model, rows: readonly Row[]): ReadonlySet<string> {
  const own = new Map(resources.map((resource) => [resource.table, resource]));
  const outdated = new Set<string>();
  for (const { table, duty } of rows) {
    const resource = own.get(String(table));
    if (resource && !dutiesOf(resource).includes(String(duty))) outdated.add(resource.table);
  }
  return outdated;
}

const WRITES: readonly Statement['do'][] = [
  'insert',
  'insert each',
  'insert all',
  'update',
  'update each',
  'update all',
  'upsert',
  'delete',
];

export function isWrite(statement: Statement): statement is Extract<Statement, { resource: Table }> {
  return WRITES.includes(statement.do);
}
