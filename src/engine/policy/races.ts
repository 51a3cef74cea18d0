/** Which writes must not run beside each other, because the rules of one may look at what the other is writing. */

import type { Rules } from '../../access/rules.ts';
import type { Resource } from '../../schema/model.ts';
import { linkFields } from '../../schema/through.ts';
import type { Input, Write } from '../operation.ts';

/**
 * Whether these writes, in one transaction, are both judged by what others may be writing and write what others may be
 * judged by. Only such transactions can each be allowed by a state that the other ends; all others come before or after
 * whatever they overlap with. Rules for READ are left out: they decide nothing but whether the writer sees the result.
 */
export function mayRace({ looking, lookedAt }: Rules, writes: readonly Write[]): boolean {
  if (looking.size === 0) return false;
  const { judged, written } = touchedBy(writes);
  return !judged.isDisjointFrom(looking) && !written.isDisjointFrom(lookedAt);
}

/** What these writes are judged by the rules of, and all that they write. */
export function touchedBy(writes: readonly Write[]): {
  readonly judged: ReadonlySet<Resource>;
  readonly written: ReadonlySet<Resource>;
} {
  const judged = new Set<Resource>();
  const written = new Set<Resource>();
  for (const operation of writes) {
    if (operation.do === 'act') continue;
    judged.add(operation.resource);
    for (const input of inputsOf(operation)) addLinked(operation.resource, input, judged, written);
    if (operation.do === 'create') addNested(operation.resource, operation.input, judged);
    else if (operation.do === 'create many')
      for (const input of operation.inputs) addNested(operation.resource, input, judged);
    else if (operation.do === 'delete' || operation.do === 'delete many')
      addDependents(operation.resource, written);
  }
  for (const resource of judged) written.add(resource);
  return { judged, written };
}

function addNested({ inverses }: Resource, input: Input, found: Set<Resource>): void {
  for (const { name, target } of inverses) {
    const records = Object.hasOwn(input, name) ? input[name] : undefined;
    if (!Array.isArray(records)) continue;
    found.add(target);
    for (const each of records)
      if (typeof each === 'object' && each !== null) {
        addNested(target, each, found);
        addLinked(target, each, found, found);
      }
  }
}

function inputsOf(operation: Write): readonly Input[] {
  if ('inputs' in operation) return operation.inputs;
  return 'input' in operation ? [operation.input] : [];
}

/** Links are records that are created and deleted. */
function addLinked(resource: Resource, input: Input, judged: Set<Resource>, written: Set<Resource>): void {
  for (const { name, through } of linkFields(resource))
    if (Object.hasOwn(input, name)) {
      judged.add(through.links.target);
      addDependents(through.links.target, written);
    }
}

/** What @onDelete changes along with it, which no rule is asked about. */
function addDependents({ pointedAtBy }: Resource, found: Set<Resource>): void {
  for (const { owner, onDelete } of pointedAtBy) {
    if (onDelete === 'RESTRICT' || found.has(owner)) continue;
    found.add(owner);
    if (onDelete === 'CASCADE') addDependents(owner, found);
  }
}
