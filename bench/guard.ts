/** What authentication and rules cost: keyed reads by somebody who is known and may, beside those of anybody. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Effort } from './compare.ts';
import { fillFile } from './data.ts';
import { duet } from './duet.ts';
import { get, median } from './load.ts';
import type { Databases } from './postgres.ts';
import { Process } from './process.ts';

const SECRET = 'thirty-two bytes of a secret, at least';

export interface Guard {
  /** Requests/s. */
  readonly open: number;
  readonly guarded: number;
  /** The median of the ratios of each round. */
  readonly share: number;
}

/** A rule that hangs on the role, and one that hangs on the record. */
function ruled(schema: string): string {
  return schema.replace(
    'type Book @resource',
    'type Book @resource @allow(to: [READ], role: "reader") @allow(to: [READ, UPDATE], where: { author: { eq: { claim: "sub" } } })',
  );
}

function token(): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const expires = Math.floor(Date.now() / 1000) + 3600;
  const signed = `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ sub: 'somebody', roles: ['reader'], exp: expires })}`;
  return `${signed}.${new Bun.CryptoHasher('sha256', SECRET).update(signed).digest('base64url')}`;
}

export async function guard(effort: Effort, folder: string, databases: Databases): Promise<Guard> {
  const data = join(folder, 'guard.json');
  fillFile(data);
  const schema = ruled(readFileSync(join(import.meta.dir, 'schema.graphql'), 'utf8'));
  const open = await Process.start(duet({ folder, data }), databases);
  const ready = get('/healthz');
  const command = duet({ folder, data, schema, ready });
  const guarded = await Process.start(
    { ...command, env: { ...command.env, AUTH_SECRET: SECRET } },
    databases,
  );
  const ask = get('/books/{id}');
  const known = { ...ask, token: token() };
  try {
    await open.press(ask, effort);
    await guarded.press(known, effort);
    const rounds: (readonly [number, number])[] = [];
    for (let round = 0; round < effort.rounds; round++)
      rounds.push([
        (await open.press(ask, effort)).perSecond,
        (await guarded.press(known, effort)).perSecond,
      ]);
    return {
      open: median(rounds.map(([each]) => each)),
      guarded: median(rounds.map(([, each]) => each)),
      share: median(rounds.map(([without, with_]) => with_ / without)),
    };
  } finally {
    await open.stop();
    await guarded.stop();
  }
}
