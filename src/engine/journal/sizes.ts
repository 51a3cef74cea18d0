/** How many bytes changes take in an answer. */

import type { Row } from '../../storage/statements.ts';
import { AROUND_OBJECT, bytesOf, bytesOfJson, bytesOfName, bytesOfWritten, VALUE } from '../sizes.ts';
import type { Telling } from './changes-operation.ts';

const plain = [
  'position',
  'at',
  'kind',
  'resource',
  'key',
  'version',
  'caller',
  'requestId',
  'transaction',
] as const;

/** All of it, once. */
export const whole: Telling = {
  fields: new Map(plain.map((name) => [name, 1])),
  names: [...plain, 'before', 'after'].reduce((sum, name) => sum + bytesOfName(name), AROUND_OBJECT),
  before: 1,
  after: 1,
  refusal: 0,
};

export function bytesOfChanges(changes: readonly Row[], telling: Telling, isExact: boolean): number {
  const { fields, names, before, after, refusal } = telling;
  const bytesOfValue = isExact ? bytesOfWritten : bytesOfJson;
  const ofImages = (name: 'before' | 'after', asked: Telling['before']): number => {
    const times = typeof asked === 'number' ? asked : (asked.rendered?.records ?? 1);
    let bytes = 0;
    for (const change of changes) {
      const image = change[name] as Row | null | undefined;
      if (!image) bytes += times * (image === null ? VALUE : refusal);
      else
        bytes += typeof asked === 'number' ? times * bytesOfValue(image) : bytesOf(asked, [image], isExact);
    }
    return bytes;
  };
  let bytes = changes.length * names + ofImages('before', before) + ofImages('after', after);
  for (const [name, times] of fields)
    for (const change of changes)
      bytes += times * (change[name] === undefined ? refusal : bytesOfValue(change[name]));
  return bytes;
}
