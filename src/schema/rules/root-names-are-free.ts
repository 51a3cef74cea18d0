/** Root fields of GraphQL have names of their own, except where the file replaces a derived one. */

import { journaled } from '../journal.ts';
import type { Place } from '../model.ts';
import { CHANGES, CHANGES_POSITION, journalNames, reservedRootFields, rootFieldName } from '../names.ts';
import type { Rule } from './rule.ts';

export const rootNamesAreFree: Rule = (model, report) => {
  const taken = new Map<string, string>();
  const take = (root: string, name: string, by: string, place: Place, cure: string) => {
    const slot = `${root}.${name}`.toLowerCase();
    const other = taken.get(slot);
    if (other) report(place, `${by} needs the root field ${root}.${name}, which ${other} has. ${cure}`);
    else taken.set(slot, by);
  };
  const kept = journaled(model, 'graphql');
  if (kept[0])
    for (const name of [CHANGES, CHANGES_POSITION])
      take('Query', name, '"@journal"', kept[0].place, 'Take it out.');
  for (const resource of kept) {
    const cure = 'Rename the type, or the other.';
    take('Query', journalNames.query(resource), `"@journal" on ${resource.name}`, resource.place, cure);
    take('Mutation', journalNames.restore(resource), `"@journal" on ${resource.name}`, resource.place, cure);
  }
  for (const resource of model.resources) {
    if (!resource.graphql) continue;
    const cure = 'Choose another: @resource(plural: "…")';
    const { query, mutation } = reservedRootFields(resource);
    for (const name of query) take('Query', name, resource.name, resource.place, cure);
    for (const name of mutation) take('Mutation', name, resource.name, resource.place, cure);
  }
  const declared = new Set<string>();
  for (const { root, name, operation, resource, place } of model.rootFields) {
    const field = `"${root}.${name}"`;
    const replaces = rootFieldName[operation](resource) === name;
    if (name.startsWith('_'))
      report(place, `${field} begins with "_", which Duet keeps for itself. Rename it.`);
    else if (declared.has(field)) report(place, `${field} is declared twice. Remove one.`);
    else if (!replaces) take(root, name, field, place, 'Rename it.');
    declared.add(field);
  }
  const paths = new Map<string, string>();
  for (const { root, name, path, place } of model.actions) {
    const field = `"${root}.${name}"`;
    const other = paths.get(path);
    if (name.startsWith('_'))
      report(place, `${field} begins with "_", which Duet keeps for itself. Rename it.`);
    else take(root, name, field, place, 'Rename it.');
    if (other && other !== field)
      report(place, `${field} needs the path /actions/${path}, which ${other} has. Rename it.`);
    paths.set(path, field);
  }
};
