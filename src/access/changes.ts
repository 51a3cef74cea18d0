/** What another file changes about who may do what: the rules that come and go, and what claims set. */

import type { Action, AllowRule, Field, Model, Resource } from '../schema/model.ts';
import { answerable } from '../schema/values.ts';

export interface RuleChange {
  /** Whether somebody may do less than before. */
  readonly narrows: boolean;
  readonly text: string;
}

export function ruleChanges(before: Model | undefined, after: Model): RuleChange[] {
  return after.resources.flatMap((resource) => {
    const was = before?.byType.get(resource.name);
    return [
      ...compared(resource.name, was?.allow ?? [], resource.allow, neverOpen),
      ...answerable(resource).flatMap((field) => fieldChanges(resource, field, was && fieldOf(was, field))),
    ];
  });
}

function fieldOf(was: Resource, { name }: Field): Field | undefined {
  return answerable(was).find((field) => field.name === name);
}

function fieldChanges({ name }: Resource, field: Field, was: Field | undefined): RuleChange[] {
  // A reference and its column have the same rules; the file has them on the reference.
  if (field.kind === 'column' && field.reference) return [];
  const on = `${name}.${field.name}`;
  const [set, setBefore] = [claimOf(field), claimOf(was)];
  const changes = compared(on, was?.allow ?? [], field.allow, was ? goesWithRecord : neverOpen);
  if (set === setBefore) return changes;
  if (setBefore !== undefined)
    changes.push({ narrows: false, text: `${on}: gone: @set(claim: "${setBefore}")` });
  if (set !== undefined)
    changes.push({ narrows: was !== undefined, text: `${on}: new: @set(claim: "${set}")` });
  return changes;
}

/** Whether everybody may do it who may do so with the record, as no rule of the field speaks of it. */
function goesWithRecord(action: Action, rules: readonly AllowRule[]): boolean {
  return !rules.some(({ to }) => to.includes(action));
}

/** On a type nobody may do what no rule allows: each of them only ever adds. */
function neverOpen(): boolean {
  return false;
}

function compared(
  on: string,
  before: readonly AllowRule[],
  after: readonly AllowRule[],
  isOpen: (action: Action, rules: readonly AllowRule[]) => boolean,
): RuleChange[] {
  const missing = (from: readonly AllowRule[], of: readonly AllowRule[]) => {
    const known = new Set(from.map(written));
    return of.filter((rule) => !known.has(written(rule)));
  };
  return [
    ...missing(after, before).map((rule) => ({
      narrows: rule.to.some((action) => !isOpen(action, after)),
      text: `${on}: gone: ${written(rule)}`,
    })),
    ...missing(before, after).map((rule) => ({
      narrows: rule.to.some((action) => isOpen(action, before)),
      text: `${on}: new: ${written(rule)}`,
    })),
  ];
}

function claimOf(field: Field | undefined): string | undefined {
  return field?.kind === 'column' && field.origin.by === 'claim' ? field.origin.claim : undefined;
}

/** Whom and what the rule names, in one order, so that the same rule written in another is no other. */
function written({ to, role, where, check }: AllowRule): string {
  const parts = [
    `to: [${to.toSorted().join(', ')}]`,
    ...(role === undefined ? [] : [`role: ${JSON.stringify(role)}`]),
    ...(where === undefined ? [] : [`where: ${JSON.stringify(where)}`]),
    ...(check === undefined ? [] : [`check: ${JSON.stringify(check)}`]),
  ];
  return `@allow(${parts.join(', ')})`;
}
