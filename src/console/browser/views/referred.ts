/** The names of records that are known by their keys alone, as those are that the past of a record refers to. */

import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { ListAsk } from '../ask.ts';
import { send } from '../doors/send.ts';
import type { Resource, Row, Schema } from '../schema/types.ts';
import { door, may } from '../session.ts';

/** As many as are looked up of each type; the others are shown by their keys. */
const MOST = 100;

/** Puts beside its key each record that a row refers to, as soon as it is known. */
export function useReferred(
  { columns }: Pick<Resource, 'columns'>,
  rows: readonly Row[],
  schema: Schema,
): <T extends Row | null | undefined>(row: T) => T {
  const found = useSignal<ReadonlyMap<string, Row>>(new Map());
  const wanted = new Map<string, Set<unknown>>();
  for (const { name, reference } of columns)
    for (const row of reference ? rows : []) {
      const keys = wanted.get(reference?.target ?? '') ?? new Set();
      if (row[name] !== null && row[name] !== undefined && keys.size < MOST) keys.add(row[name]);
      wanted.set(reference?.target ?? '', keys);
    }
  useEffect(() => {
    for (const [name, keys] of wanted) {
      const target = schema.byName.get(name);
      if (!target || keys.size === 0 || !may(target, 'LIST')) continue;
      send(byKeys(target, [...keys]), door.value, schema).then(
        ({ rows: known = [] }) => {
          const named = known.map((row) => [placeOf(name, row[target.key.name]), row] as const);
          found.value = new Map([...found.value, ...named]);
        },
        // Then their keys have to do.
        () => {},
      );
    }
  }, [JSON.stringify([...wanted].map(([name, keys]) => [name, ...keys]))]);
  return (row) => {
    if (!row) return row;
    const referred = columns.map(({ name, reference }) => [
      reference?.name,
      reference && found.value.get(placeOf(reference.target, row[name])),
    ]);
    return { ...row, ...Object.fromEntries(referred.filter(([, record]) => record)) };
  };
}

function placeOf(type: string, key: unknown): string {
  return JSON.stringify([type, String(key)]);
}

function byKeys(resource: Resource, keys: readonly unknown[]): ListAsk {
  return {
    do: 'list',
    resource,
    where: { [resource.key.name]: { in: keys } },
    sort: [],
    limit: MOST,
  };
}
