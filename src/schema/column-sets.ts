/** What a type says of several of its columns together: `@unique`, `@index` and `@search`. */

import type { AppliedDirectives } from './directives.ts';
import type { Draft, Faults } from './draft.ts';
import type { ColumnSet, Resource } from './model.ts';
import { didYouMean } from './suggest.ts';
import { isText } from './values.ts';

export function readColumnSets(
  resource: Draft<Resource>,
  directives: AppliedDirectives,
  faults: Faults,
): void {
  for (const kind of ['unique', 'index'] as const)
    for (const applied of directives.get(kind) ?? []) {
      const names = applied.arguments['fields'] as string[] | undefined;
      if (!names || names.length === 0) {
        faults.at(
          applied.node,
          `"@${kind}" on a type needs its fields, such as: @${kind}(fields: ["title"])`,
        );
        continue;
      }
      const columns = names.flatMap((name) => {
        const field = resource.fieldByName.get(name);
        if (field?.kind === 'column') return [field];
        if (field?.kind === 'reference') return [field.column];
        const options = resource.columns.map((column) => column.name);
        faults.at(
          applied.node,
          `"@${kind}" names "${name}", which is no stored field of ${resource.name}.${didYouMean(name, options)}`,
        );
        return [];
      });
      if (new Set(columns).size < columns.length)
        faults.at(applied.node, `"@${kind}" names a field twice. Remove one.`);
      const set: ColumnSet = { place: faults.place(applied.node), columns };
      (kind === 'unique' ? resource.uniques : resource.indexes).push(set);
    }
}

/** Each is looked at for every word. */
const MOST_SEARCHED = 16;

export function readSearched(resource: Draft<Resource>, directives: AppliedDirectives, faults: Faults): void {
  const applied = directives.get('search')?.[0];
  if (!applied) return;
  const names = applied.arguments['fields'] as string[];
  const report = (message: string) => faults.at(applied.node, message);
  const texts = resource.columns.filter(isText).map(({ name }) => name);
  const cure = ` There are: ${texts.join(', ') || 'none'}.`;
  if (names.length === 0) report(`"@search" on ${resource.name} names no field. Name String fields.${cure}`);
  if (names.length > MOST_SEARCHED)
    report(`"@search" on ${resource.name} names ${names.length} fields. Name at most ${MOST_SEARCHED}.`);
  if (new Set(names).size < names.length) report('"@search" names a field twice. Remove one.');
  for (const name of names) {
    const field = resource.fieldByName.get(name);
    if (field?.kind === 'column' && isText(field)) resource.searched.push(field);
    else
      report(
        `"@search" names "${name}", which is no String field of ${resource.name}.${didYouMean(name, texts) || cure}`,
      );
  }
}
