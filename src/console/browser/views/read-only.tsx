/** What the caller may not do with a type or a record, where it would otherwise look for it. */

import { dataLink } from '../links.ts';
import type { Operation, Resource } from '../schema/types.ts';
import { isRefused, may } from '../session.ts';
import { Empty, Icon } from './parts.tsx';

type WriteOperation = Extract<Operation, 'CREATE' | 'UPDATE' | 'DELETE'>;

const verbs: Readonly<Record<WriteOperation, string>> = {
  CREATE: 'create',
  UPDATE: 'change',
  DELETE: 'delete',
};

interface Props {
  resource: Resource;
  writes: readonly WriteOperation[];
  /** Of one record; otherwise of whichever. */
  id?: string;
}

export function ReadOnly({ resource, writes, id }: Props) {
  const offered = writes.filter((operation) => resource.operations.has(operation));
  const refused = offered.filter((operation) => isRefused(resource, operation, id));
  if (refused.length === 0) return null;
  return (
    <span class="tag">
      <Icon name="lock" />{' '}
      {refused.length === offered.length
        ? 'read-only for you'
        : `you may not ${refused.map((operation) => verbs[operation]).join(' or ')}`}
    </span>
  );
}

/** In place of a form that would be filled in for nothing. */
export function Refused({ resource, write }: { resource: Resource; write: WriteOperation }) {
  return (
    <Empty icon="lock" title={`You may not ${verbs[write]} ${resource.plural}`}>
      {may(resource, 'LIST') && (
        <a class="button" href={dataLink(resource.name)}>
          All {resource.plural}
        </a>
      )}
    </Empty>
  );
}
