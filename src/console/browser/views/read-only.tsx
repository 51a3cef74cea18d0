/** What the caller may not do with a type or a record, where it would otherwise look for it. */

import type { Operation, Resource } from '../schema/types.ts';
import { isRefused, may, token } from '../session.ts';
import { AllOf, Empty, Icon, SignIn } from './parts.tsx';

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
export function Refused({ to, resource }: { to: string; resource?: Resource }) {
  return (
    <Empty icon="lock" title={`${token.value === '' ? 'Sign in to' : 'You may not'} ${to}`}>
      <SignIn />
      {resource && may(resource, 'LIST') && <AllOf {...resource} />}
    </Empty>
  );
}
