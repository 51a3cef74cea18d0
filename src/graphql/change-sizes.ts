/** What a selection asks of changes, and so how long each of them is in the answer. */

import type { Telling } from '../engine/journal/changes-operation.ts';
import { AROUND_OBJECT, PAIR } from '../engine/sizes.ts';
import type { Column, Resource } from '../schema/model.ts';
import { changeTypes, journalNames } from '../schema/names.ts';
import { bytesOfNames, type Given, type ObjectNodes, objectsOf } from './fields.ts';

/** About what the error takes that stands for a value which the caller may not have. */
const REFUSAL = 300;

/** `of`: the type that all of them are of; where there are several, what a record was is JSON. */
export function tellingOf(of: Resource | undefined, nodes: ObjectNodes, given: Given): Telling {
  const parts = objectsOf([nodes], given);
  const images = (name: string): Telling['before'] => {
    const objects = parts.get(name) ?? [];
    if (!of) return objects.length;
    const inside = objectsOf(objects, given);
    const columns = of.columns.flatMap((column): [Column, number][] => {
      const asked = inside.get(column.name);
      return asked ? [[column, asked.length]] : [];
    });
    const names = bytesOfNames(inside, journalNames.image(of));
    return {
      columns: columns.map(([column]) => column),
      relations: [],
      rendered: { records: objects.length, columns, names },
    };
  };
  const fields = new Map([...parts].map(([name, asked]) => [name, asked.length]));
  for (const name of ['before', 'after', '__typename']) fields.delete(name);
  const names = bytesOfNames(parts, of ? journalNames.change(of) : (changeTypes[0] ?? ''));
  return {
    fields,
    // A key is a text here, also where it is a number in a row.
    names: AROUND_OBJECT + names + (fields.get('key') ?? 0) * PAIR,
    before: images('before'),
    after: images('after'),
    refusal: REFUSAL,
  };
}
