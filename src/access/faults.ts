/** What a file's rules of access must meet: they fit the types, and what they can hide can be null. */

import { checksFit } from '../query/checks.ts';
import { all, conditionsOn, type Filter, isEverything, isNothing } from '../query/filter.ts';
import type { Model, Place, Reference, Resource } from '../schema/model.ts';
import type { Rule } from '../schema/rules/rule.ts';
import { filled } from './claims.ts';
import { casesOf, follows } from './proof.ts';
import { Rights } from './rights.ts';
import { type AccessRule, AUTHENTICATED, Rules } from './rules.ts';

/** Those that need the grammar of filters, which the schema itself does not know. */
export const accessRules: readonly Rule[] = [
  checksFit,
  (model, report) => {
    let sound = true;
    const rules = new Rules(model, (place, message) => {
      sound = false;
      report(place, message);
    });
    fieldsCanBeNull(model, report);
    // What a rule that does not fit can hide is anybody's guess.
    if (!sound) return;
    createsAreKnown(model, rules, report);
    referencesCanBeNull(model, rules, report);
  },
];

type Report = (place: Place, message: string) => void;

/** A list is held to this where its type is read. */
function fieldsCanBeNull(model: Model, report: Report): void {
  for (const resource of model.resources)
    for (const { name, required, allow, reference } of resource.columns) {
      const rule = allow.find(({ to }) => to.includes('READ'));
      if (rule && required)
        report(
          rule.place,
          `"${resource.name}.${reference?.name ?? name}" has a rule on who may READ it and can be null for the others. Drop its "!", or the rule.`,
        );
    }
}

/** A record is judged before it is written: then it has no list yet, and no id that the database gives it. */
function createsAreKnown(model: Model, rules: Rules, report: Report): void {
  // A reference has the rules of its column.
  for (const resource of model.resources)
    for (const on of [resource, ...resource.fields.filter(({ kind }) => kind !== 'reference')])
      for (const { to, where, place } of rules.of(on)) {
        const name = to.includes('CREATE') ? unknownYet(where, resource) : undefined;
        if (name === undefined) continue;
        const whose = on === resource ? resource.name : `${resource.name}.${on.name}`;
        report(
          place,
          `The rule on "${whose}" asks for "${resource.name}.${name}", which a record does not have before it is created. Give CREATE a rule of its own that asks for what is known then, such as the fields that are given: @allow(to: [CREATE], …)`,
        );
      }
}

/** What a filter asks of the record itself that only a stored one has. */
function unknownYet(filter: Filter, { key }: Resource): string | undefined {
  for (const each of conditionsOn(filter)) {
    if (each.is === 'some') return each.field.name;
    if ('column' in each && each.column === key && key.origin.by === 'serial') return key.name;
  }
  return undefined;
}

/** A record that one may not see is not there, and so the reference to it must be able not to be there. */
function referencesCanBeNull(model: Model, rules: Rules, report: Report): void {
  for (const resource of model.resources)
    for (const reference of resource.references) {
      if (!reference.required || reference.allow.some(({ to }) => to.includes('READ'))) continue;
      const blind = rules
        .of(resource)
        .find((rule) => rule.to.includes('READ') && canMiss(rules, rule, reference));
      if (!blind) continue;
      const { target } = reference;
      const [role] = rolesOf(blind);
      const cure = role === undefined ? '@allow(to: [READ])' : `@allow(to: [READ], role: "${role}")`;
      report(
        reference.place,
        `The rule at ${blind.place.line}:${blind.place.column} lets people READ ${resource.name} who may not READ each ${target.name}. Drop the "!" of "${resource.name}.${reference.name}", or add ${cure} to ${target.name}.`,
      );
    }
}

/**
 * Whether somebody with no more than this rule can see a record, but not what its reference points to. The rule may itself demand
 * that the other record be seen: { post: { published: { eq: true } } }. One with several ways is as several rules.
 */
function canMiss(rules: Rules, { role, where }: AccessRule, reference: Reference): boolean {
  return !casesOf(where).every((held) => {
    const roles = rolesOf({ role, where: all(held) });
    const seen = new Rights(rules, roles).rows(reference.target, 'READ');
    return isEverything(seen) || follows({ is: 'related', field: reference, where: seen }, held);
  });
}

/** What everybody has to whom the rule gives anything. Who has a claim is known. */
function rolesOf({ role, where }: Pick<AccessRule, 'role' | 'where'>): string[] {
  if (role !== undefined) return [role, AUTHENTICATED];
  return isNothing(filled(where, {})) ? [AUTHENTICATED] : [];
}
