/** Who may do what, as a table for people. */

import { Claim } from '../query/claim.ts';
import { canonical, type Filter, isEverything, isNothing } from '../query/filter.ts';
import type { Action, Field, Model, Resource } from '../schema/model.ts';
import { answerable } from '../schema/values.ts';
import { filled } from './claims.ts';
import { Rights } from './rights.ts';
import { AUTHENTICATED, Rules } from './rules.ts';

const always: readonly Action[] = ['READ', 'CREATE', 'UPDATE', 'DELETE'];

/** Without a role, somebody whom nobody knows. Conditions stand below the table, by their numbers. */
export function explained(model: Model, roles: readonly string[]): string[] {
  const rules = new Rules(model);
  const rights = new Rights(rules, roles.length > 0 ? [...roles, AUTHENTICATED] : []);
  const hasHistory = model.resources.some(({ journal }) => journal);
  const actions: readonly Action[] = hasHistory ? [...always, 'HISTORY'] : always;
  const conditions: string[] = [];
  const cell = (rule: Filter): string => {
    // Who is not known has no claims either.
    const filter = roles.length > 0 ? rule : filled(rule, {});
    if (isEverything(filter)) return 'all';
    if (isNothing(filter)) return 'no';
    const text = described(filter);
    if (!conditions.includes(text)) conditions.push(text);
    return `where (${conditions.indexOf(text) + 1})`;
  };
  const updates = (resource: Resource): string => {
    const ways = rights.ways(resource);
    if (isNothing(rights.rows(resource, 'READ')) || !ways.some(({ check }) => check))
      return cell(effective(rights, resource, 'UPDATE'));
    return ways
      .map(({ where, check }) => (check ? `${cell(where)} to ${cell(check)}` : cell(where)))
      .join(' or ');
  };
  const rows = model.resources.flatMap((resource) => [
    [
      resource.name,
      ...actions.map((action) =>
        action === 'UPDATE' ? updates(resource) : cell(effective(rights, resource, action)),
      ),
    ],
    ...ruled(resource).map((field) => [
      `${resource.name}.${field.name}`,
      ...actions.map((action) => (has(field, action) ? cell(rights.field(field, action)) : '-')),
    ]),
  ]);
  const whose = roles.length > 0 ? `role ${roles.join(', ')}` : 'anonymous';
  return [
    ...aligned([[whose, ...actions], ...rows]),
    ...conditions.map((text, index) => `(${index + 1}) ${text}`),
    ...roles
      .filter((role) => role !== AUTHENTICATED && !rules.roles.has(role))
      .map((role) => `No rule names the role "${role}"; it may do what everybody may who is known.`),
  ];
}

/** What one writes, one is shown: nobody writes what he cannot read. */
function effective(rights: Rights, resource: Resource, action: Action): Filter {
  const seen = rights.rows(resource, 'READ');
  return isNothing(seen) ? seen : rights.rows(resource, action);
}

/** A reference has the rules of its column. */
function ruled(resource: Resource): Field[] {
  return answerable(resource).filter((field) => field.allow.length > 0 && field.kind !== 'reference');
}

function has({ allow }: Field, action: Action): boolean {
  return allow.some(({ to }) => to.includes(action));
}

function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((text, column) => text.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

function described(filter: Filter): string {
  switch (filter.is) {
    case 'all':
    case 'any': {
      if (filter.of.length === 0) return filter.is === 'all' ? 'always' : 'never';
      const parts = filter.of.map((each) =>
        each.is === 'all' || each.is === 'any' ? `(${described(each)})` : described(each),
      );
      return parts.join(filter.is === 'all' ? ' and ' : ' or ');
    }
    case 'not':
      return `not (${described(filter.of)})`;
    case 'related':
      return `${filter.field.name} (${described(filter.where)})`;
    case 'some':
      return `some ${filter.field.name} (${described(filter.where)})`;
    case 'null':
      return `${filter.column.name} is null`;
    case 'empty':
      return `${filter.column.name} is empty`;
    case 'in':
    case 'hasSome':
    case 'hasEvery':
      return `${filter.column.name} ${filter.is} ${filter.values.map(operand).join(', ') || 'nothing'}`;
    case 'search':
      return canonical(filter);
    default:
      return `${filter.column.name} ${filter.is} ${operand(filter.value)}`;
  }
}

function operand(value: unknown): string {
  return value instanceof Claim ? `claim ${value.claim}` : JSON.stringify(value);
}
