/** Names of types, fields, enum values and paths are well-formed and differ by more than letter case. */

import { shapesOf } from '../actions.ts';
import { definedTypes } from '../directives.ts';
import type { Described } from '../model.ts';
import {
  ACTIONS_PATH,
  BY_ARGUMENT,
  besideList,
  CHANGES_PATH,
  changeTypes,
  journalNames,
  LIVE_PATH,
  ownArguments,
  ownFilters,
  ownPaths,
  ownTypes,
  reservedTypes,
} from '../names.ts';
import { scalars } from '../scalars.ts';
import { linkNames, writtenThrough } from '../through.ts';
import { upsertKeys } from '../upserts.ts';
import type { Rule } from './rule.ts';

export const namesAreFree: Rule = (model, report) => {
  const distinct = (what: string, named: readonly Described[], takenNames: Iterable<string>) => {
    const taken = new Map([...takenNames].map((name) => [name.toLowerCase(), name]));
    const own = new Set<string>();
    for (const { name, place } of named) {
      const other = taken.get(name.toLowerCase());
      if (name.startsWith('_'))
        report(place, `${what} "${name}" begins with "_", which Duet keeps for itself. Rename it.`);
      else if (own.has(name)) report(place, `${what} "${name}" exists twice. Remove one.`);
      else if (other === name)
        report(place, `${what} "${name}" collides with a name that Duet derives. Rename it.`);
      else if (other)
        report(place, `${what} "${name}" and "${other}" differ only in letter case. Rename one.`);
      else taken.set(name.toLowerCase(), name);
      own.add(name);
    }
  };

  const filters = model.enums.flatMap(({ name }) => [`${name}Filter`, `${name}ListFilter`]);
  const kept = model.resources.filter(({ journal }) => journal);
  const changes = kept.flatMap((resource) => [journalNames.change(resource), journalNames.image(resource)]);
  const ownChanges = kept.length > 0 ? changeTypes : [];
  const derivedTypes = [...model.resources.flatMap(reservedTypes), ...filters, ...changes, ...ownChanges];
  distinct(
    'Type',
    [...model.resources, ...model.enums, ...shapesOf(model.actions)],
    [...scalars.keys(), ...definedTypes, ...ownTypes, ...derivedTypes],
  );
  for (const { name, values } of model.enums) distinct(`${name} value`, values, []);
  for (const resource of model.resources) {
    const by = upsertKeys(resource).size > 0 ? [BY_ARGUMENT] : [];
    const ids = new Map<string, string>();
    for (const through of writtenThrough(resource)) {
      const { ids: name } = linkNames(through);
      const other = ids.get(name);
      if (other !== undefined)
        report(
          through.place,
          `"${resource.name}.${other}" and "${resource.name}.${through.name}" are both written as "${name}". Rename one.`,
        );
      ids.set(name, through.name);
    }
    const lists = [...resource.inverses, ...resource.throughs].flatMap((list) =>
      Object.values(besideList).map((nameBeside) => nameBeside(list)),
    );
    const taken = [...ownArguments, ...ownFilters, ...by, ...ids.keys(), ...lists];
    const computed = resource.computed.map(({ column }) => column);
    distinct(`${resource.name} field`, [...resource.fields, ...computed], taken);
  }

  const shapes = shapesOf(model.actions);
  for (const { name, fields } of shapes) distinct(`${name} field`, fields, []);
  const acting = model.actions.length > 0 ? [ACTIONS_PATH] : [];
  const reserved = [...ownPaths, ...acting, ...(kept.length > 0 ? [CHANGES_PATH, LIVE_PATH] : [])];
  const paths = new Map(reserved.map((path) => [path, 'Duet']));
  for (const { name, path, place, rest, plural } of model.resources) {
    const other = paths.get(path.toLowerCase());
    if (!/^[A-Za-z][A-Za-z0-9]*$/.test(plural))
      report(
        place,
        `The plural "${plural}" of ${name} must be a name of letters and digits, such as "people".`,
      );
    if (!/^[A-Za-z0-9][A-Za-z0-9._~-]*$/.test(path))
      report(place, `The path "${path}" of ${name} must be one path segment of letters, digits and - . _ ~`);
    else if (rest && other)
      report(place, `The path "/${path}" of ${name} is taken by ${other}. Choose one: @resource(path: "…")`);
    if (rest) paths.set(path.toLowerCase(), name);
  }
};
