/** `/_duet/keys`: API keys, made, listed and revoked as `duet key` does. */

import { DuetError } from '../base/errors.ts';
import { type ApiKeys, KEY_NAME } from '../engine/api-keys.ts';
import { answer, answerWithoutBody } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Input } from './input.ts';

const NAMED = 'must have 1 to 64 letters, digits, ".", "_" or "-", and begin with a letter or digit';

export async function listKeys(keys: ApiKeys): Promise<Response> {
  const found = await keys.list();
  const told = found.map((key) => ({ ...key, revoked: key.revoked ?? null }));
  return answer(200, JSON.stringify(told));
}

/** The only answer that ever has the key. */
export async function createKey(keys: ApiKeys, input: Input): Promise<Response> {
  const name = input.value('name');
  const roles = input.texts('roles');
  const isName = typeof name === 'string' && KEY_NAME.test(name);
  if (name === undefined) input.fault('name', 'REQUIRED', 'name is required');
  else if (!isName) input.fault('name', 'FORMAT', `name ${NAMED}`);
  if (!roles.every((role) => KEY_NAME.test(role))) input.fault('roles', 'FORMAT', `each role ${NAMED}`);
  input.end();
  const key = await keys.create(String(name), roles);
  if (key === undefined)
    throw new DuetError(
      'CONFLICT',
      `There is a key "${name}" already: revoke it first, or choose another name.`,
      {
        errors: [{ pointer: '#/name', code: 'NOT_UNIQUE', detail: 'name is that of a key in use' }],
      },
    );
  return answer(201, JSON.stringify({ name, roles, key }));
}

export async function revokeKey(keys: ApiKeys, { key: name }: Exchange): Promise<Response> {
  const isRevoked = KEY_NAME.test(name) && (await keys.revoke(name));
  if (!isRevoked) throw new DuetError('NOT_FOUND', 'There is no key of this name in use.');
  return answerWithoutBody(204);
}
