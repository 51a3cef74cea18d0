/** What is left of records that were deleted: the ids and versions that must not be given again. */

import type { Resource } from '../../schema/model.ts';
import { isStorableText } from '../../schema/scalars.ts';
import { run, type Snapshot } from '../../storage/storage.ts';

export type Remains =
  /** The last id that the server gave. */
  | { readonly lastId: number }
  /** The last version of a natural key whose record was deleted. */
  | { readonly buried: { readonly key: string; readonly version: number } };

/** Few enough to hold in memory, many enough to make statements rare. */
const PAGE = 1000;

export async function* remainsOf(resource: Resource, snapshot: Snapshot): AsyncGenerator<Remains> {
  const { by } = resource.key.origin;
  if (by === 'serial') {
    const [row] = await snapshot.run(() => run({ do: 'last id', resource }));
    const lastId = Number(row?.['last'] ?? 0);
    if (lastId > 0) yield { lastId };
  }
  if (by !== 'client') return;
  for (let after: string | undefined, more = true; more; ) {
    const rows = await snapshot.run(() => run({ do: 'buried', resource, after, limit: PAGE }));
    for (const row of rows) {
      after = String(row['key']);
      yield { buried: { key: after, version: Number(row['version']) } };
    }
    more = rows.length === PAGE;
  }
}

/** Why these cannot be remains of this resource, if they cannot. */
export function faultOf({ plural, key }: Resource, remains: Remains): string | undefined {
  const { by } = key.origin;
  if ('buried' in remains) {
    if (by !== 'client') return `${plural} have no key that clients give, so none of them is buried`;
    return isStorableText(remains.buried.key) ? undefined : 'the buried key is no text that can be stored';
  }
  return by === 'serial' ? undefined : `${plural} have no ids that are counted, so there is no last one`;
}
