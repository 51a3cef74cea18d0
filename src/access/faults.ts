/** What a file's rules of access must meet: they fit the types, and what they can hide can be null. */

import { canonical, type Filter, isEverything } from '../query/filter.ts';
import type { Model, Place, Reference } from '../schema/model.ts';
import type { Rule } from '../schema/rules/rules.ts';
import { Rights } from './rights.ts';
import { type AccessRule, AUTHENTICATED, Rules } from './rules.ts';

export const accessRules: readonly Rule[] = [
  (model, report) => {
    let sound = true;
    const rules = new Rules(model, (place, message) => {
      sound = false;
      report(place, message);
    });
    fieldsCanBeNull(model, report);
    // What a rule that does not fit can hide is anybody's guess.
    if (sound) referencesCanBeNull(model, rules, report);
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
      const who = blind.role === undefined ? 'everybody' : `role "${blind.role}"`;
      report(
        reference.place,
        `Not everybody who may READ ${resource.name} may READ each ${target.name}: see the rule for ${who}. Drop the "!" of "${resource.name}.${reference.name}", or let them READ ${target.name}.`,
      );
    }
}

/** Whether somebody with no more than this rule can see a record, but not what its reference points to. */
function canMiss(rules: Rules, { role, where }: AccessRule, reference: Reference): boolean {
  const roles = role === undefined ? [] : [role, AUTHENTICATED];
  const seen = new Rights(rules, roles).rows(reference.target, 'READ');
  if (isEverything(seen)) return false;
  // The rule may itself demand that the other record be seen: { post: { published: { eq: true } } }.
  const demanded = conjuncts(where).flatMap((each) =>
    each.is === 'related' && each.field === reference ? conjuncts(each.where).map(canonical) : [],
  );
  const ways = seen.is === 'any' ? seen.of : [seen];
  return !ways.some((way) => conjuncts(way).every((each) => demanded.includes(canonical(each))));
}

function conjuncts(filter: Filter): readonly Filter[] {
  return filter.is === 'all' ? filter.of : [filter];
}
