/** Below a table: what was deleted of it on this page, each with the way to its history, which brings it back. */

import { deleted } from '../deleted.ts';
import { dataLink } from '../links.ts';
import type { Resource } from '../schema/types.ts';
import { shortened } from './value.tsx';

const SHOWN = 5;

export function DeletedHere({ resource }: { resource: Resource }) {
  const mine = deleted.value.filter(({ type }) => type === resource.name);
  if (mine.length === 0) return null;
  return (
    <p class="quiet small">
      Deleted here, and can be restored:{' '}
      {mine.slice(0, SHOWN).map(({ key, name }, at) => (
        <span key={String(key)}>
          {at > 0 && ', '}
          <a href={dataLink(resource.name, 'record', key, 'history')}>
            <bdi>{shortened(name)}</bdi>
          </a>
        </span>
      ))}
      {mine.length > SHOWN && ` and ${mine.length - SHOWN} before`}
    </p>
  );
}
