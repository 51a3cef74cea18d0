/** Lists that lead through a join type: the two references that they follow, and how they are written. */

import { type Draft, type Faults, told } from './draft.ts';
import { type PendingInverse, unwrap } from './fields.ts';
import { joinType } from './inverses.ts';
import type { Inverse, Reference, Resource, Through } from './model.ts';
import { pluralOf } from './names.ts';
import { didYouMean } from './suggest.ts';
import { neededOnCreate } from './values.ts';

/** Finds the join type, and its one reference each way. */
export function resolveThrough(
  { node, directives, owner, target }: PendingInverse,
  resources: ReadonlyMap<string, Resource>,
  faults: Faults,
): Through | undefined {
  const described = faults.described(node, directives);
  const { required } = unwrap(node.type);
  const where = `${owner.name}.${described.name}`;
  const applied = directives.get('through')?.[0];
  if (!applied) return undefined;
  const refuse = (message: string) => {
    faults.at(applied.node, message);
    return undefined;
  };
  if (owner.fieldByName.has(described.name)) {
    faults.report(described.place, `"${where}" exists twice. Rename one.`);
    return undefined;
  }
  if (directives.has('inverse'))
    return refuse(`"${where}" leads through a join type and is no inverse. Remove @inverse, or @through.`);
  const name = String(applied.arguments['type']);
  const join = resources.get(name);
  if (!join) {
    const cure = didYouMean(name, resources.keys()) || ` Add it: ${joinType(owner, target, name)}`;
    return refuse(`There is no type "${name}" for "${where}" to lead through.${cure}`);
  }
  const pointing = (to: Resource) => join.references.filter((reference) => reference.target === to);
  if (owner === target) {
    // Either reference could be the near one, and a pair would have to be looked for both ways.
    const [first] = pointing(owner);
    const cure = first
      ? `Show its records instead, once for each reference: ${join.plural}: [${join.name}!]! @inverse(of: "${first.name}")`
      : `Show its records instead.`;
    return refuse(
      `"${where}" leads from ${owner.name} to ${owner.name}, and nothing tells which reference of ${join.name} is which side. ${cure}`,
    );
  }
  const one = (to: Resource): Reference | undefined => {
    const [reference, ...others] = pointing(to);
    if (!reference)
      return refuse(
        `${join.name} has no reference to ${to.name}, so "${where}" cannot lead through it. Add to ${join.name}: ${to.singular}: ${to.name}! @onDelete(do: CASCADE)`,
      );
    if (others.length === 0) return reference;
    const names = [reference, ...others].map((each) => each.name).join(', ');
    return refuse(
      `${join.name} has several references to ${to.name} (${names}), and "${where}" needs exactly one. Keep one there, or lead through a type of its own: ${joinType(owner, target, `${owner.name}${target.name}`)}`,
    );
  };
  const [near, far] = [one(owner), one(target)];
  if (!near || !far) return undefined;
  const allow = faults.allowRules(directives);
  const links: Inverse = {
    ...described,
    description: undefined,
    kind: 'inverse',
    target: join,
    reference: near,
    required,
    allow,
  };
  const through: Draft<Through> = { ...described, kind: 'through', target, links, far, required, allow };
  through.description = told([described.description, `By way of ${join.plural}.`]);
  return through;
}

/** What says which records the list has, and what adds to them and removes from them. */
export interface LinkNames {
  /** `tagIds`. */
  readonly ids: string;
  /** `_tags`. */
  readonly changes: string;
}

export const ADD = 'add';
export const REMOVE = 'remove';

export function linkNames({ name, target }: Through): LinkNames {
  return { ids: `${name === target.plural ? target.singular : singularOf(name)}Ids`, changes: `_${name}` };
}

/** `categories` → `category`, `boxes` → `box`, `labels` → `label`; what has no plural stays. */
function singularOf(plural: string): string {
  const singulars = [
    plural.replace(/ies$/, 'y'),
    plural.replace(/(?<=ss|x|ch|sh)es$/, ''),
    plural.slice(0, -1),
  ];
  return singulars.find((each) => each !== plural && pluralOf(each) === plural) ?? plural;
}

/** Why the list cannot be written along with its record; undefined where it can. */
export function whyNotWritten({
  links: { target: join, reference: near },
  far,
}: Through): string | undefined {
  const missing = (['CREATE', 'DELETE'] as const).filter((kind) => !join.operations.has(kind));
  if (missing.length > 0) return `${join.name} does not offer ${missing.join(' and ')}`;
  const server = [near, far].find(({ column }) => column.origin.by !== 'client');
  if (server) return `${join.name}.${server.name} is set by the server`;
  const more = join.columns.filter(
    (column) => neededOnCreate(column) && column !== near.column && column !== far.column,
  );
  if (more.length === 0) return undefined;
  return `a new ${join.name} needs ${more.map(({ name }) => name).join(', ')} too`;
}

interface LinkField {
  readonly name: string;
  readonly through: Through;
}

const written = new WeakMap<Resource, readonly Through[]>();
const fields = new WeakMap<Resource, readonly LinkField[]>();

/** What an input can have for the lists that are written along with their record. */
export function linkFields(resource: Resource): readonly LinkField[] {
  let known = fields.get(resource);
  if (!known) {
    known = writtenThrough(resource).flatMap((through) => {
      const { ids, changes } = linkNames(through);
      return [ids, changes].map((name) => ({ name, through }));
    });
    fields.set(resource, known);
  }
  return known;
}

/** The lists that are written along with their record. */
export function writtenThrough(resource: Resource): readonly Through[] {
  let throughs = written.get(resource);
  if (!throughs) {
    throughs = resource.throughs.filter((through) => whyNotWritten(through) === undefined);
    written.set(resource, throughs);
  }
  return throughs;
}
