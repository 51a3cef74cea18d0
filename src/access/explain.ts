/** Who may do what, as a table for people. */

import { Claim } from '../query/claim.ts';
import { canonical, type Filter, isEverything, isNothing } from '../query/filter.ts';
import type { Action, Field, Model, Resource } from '../schema/model.ts';
import { answerable } from '../schema/values.ts';
import { type Claims, filled } from './claims.ts';
import { mayRun, Rights } from './rights.ts';
import { AUTHENTICATED, Rules } from './rules.ts';

const always: readonly Action[] = ['READ', 'CREATE', 'UPDATE', 'DELETE'];

export interface Explanation {
  readonly actions: readonly Action[];
  /** A type, or one of its fields (`Post.title`) that has rules of its own, with one cell for each action. */
  readonly rows: readonly { readonly of: string; readonly cells: readonly string[] }[];
  /** Those that cells name by their numbers, from 1. */
  readonly conditions: readonly string[];
  /** The root fields with `@action`, and whether they may be run. */
  readonly runs: readonly { readonly of: string; readonly may: boolean }[];
  /** Those that rules name. */
  readonly roles: readonly string[];
}

/** Without roles and claims, somebody whom nobody knows. Without claims, conditions name those that they ask for. */
export function explain(model: Model, roles: readonly string[], claims?: Claims): Explanation {
  const isKnown = roles.length > 0 || claims !== undefined;
  const rules = new Rules(model);
  const held = isKnown ? [...roles, AUTHENTICATED] : [];
  const rights = new Rights(rules, held);
  const hasHistory = model.resources.some(({ journal }) => journal);
  const actions: readonly Action[] = hasHistory ? [...always, 'HISTORY'] : always;
  const conditions: string[] = [];
  // Who is not known has no claims either.
  const said = isKnown ? claims : {};
  const asked = (rule: Filter): Filter => (said ? filled(rule, said) : rule);
  /** What one writes, one is shown: nobody writes what he cannot read. */
  const effective = (resource: Resource, action: Action): Filter => {
    const seen = asked(rights.rows(resource, 'READ'));
    return isNothing(seen) ? seen : rights.rows(resource, action);
  };
  const cell = (rule: Filter): string => {
    const filter = asked(rule);
    if (isEverything(filter)) return 'all';
    if (isNothing(filter)) return 'no';
    const text = described(filter);
    if (!conditions.includes(text)) conditions.push(text);
    return `where (${conditions.indexOf(text) + 1})`;
  };
  const updates = (resource: Resource): string => {
    const ways = rights.ways(resource);
    const filter = effective(resource, 'UPDATE');
    if (isNothing(filter) || !ways.some(({ check }) => check)) return cell(filter);
    return ways
      .map(({ where, check }) => (check ? `${cell(where)} to ${cell(check)}` : cell(where)))
      .join(' or ');
  };
  /** What a field was is seen by whoever may see what it is, and reads the past of the type. */
  const past = ({ journal }: Resource, field: Field): string => {
    const seen = rights.field(field, 'READ');
    const told = journal && !isEverything(seen) ? cell(seen) : '-';
    return told === 'no' ? 'hidden' : told;
  };
  const rows = model.resources.flatMap((resource) => [
    {
      of: resource.name,
      cells: actions.map((action) =>
        action === 'UPDATE' ? updates(resource) : cell(effective(resource, action)),
      ),
    },
    ...ruled(resource).map((field) => ({
      of: `${resource.name}.${field.name}`,
      cells: actions.map((action) => {
        if (action === 'HISTORY') return past(resource, field);
        return has(field, action) ? cell(rights.field(field, action)) : '-';
      }),
    })),
  ]);
  const runs = model.actions.map((action) => ({ of: action.name, may: mayRun(held, action) }));
  const named = model.actions.flatMap(({ allow }) => allow.flatMap(({ role }) => role ?? []));
  return { actions, rows, conditions, runs, roles: [...new Set([...rules.roles, ...named])].sort() };
}

/** The same as lines of text. Conditions stand below the table. */
export function explained(model: Model, roles: readonly string[]): string[] {
  const { actions, rows, conditions, runs, roles: named } = explain(model, roles);
  const whose = roles.length > 0 ? `role ${roles.join(', ')}` : 'anonymous';
  return [
    ...aligned([[whose, ...actions], ...rows.map(({ of, cells }) => [of, ...cells])]),
    ...conditions.map((text, index) => `(${index + 1}) ${text}`),
    ...(runs.length > 0
      ? aligned([['action', 'RUN'], ...runs.map(({ of, may }) => [of, may ? 'yes' : 'no'])])
      : []),
    ...roles
      .filter((role) => role !== AUTHENTICATED && !named.includes(role))
      .map((role) => `No rule names the role "${role}"; it may do what everybody may who is known.`),
  ];
}

/** The fields with rules of their own; a reference has those of its column. */
export function ruled(resource: Resource): Field[] {
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
