/** The issuer: better-auth keeps people and their sessions, and signs tokens with keys that it publishes at `/api/auth/jwks`. */

import { Database } from 'bun:sqlite';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { betterAuth } from 'better-auth';
import { getMigrations } from 'better-auth/db/migration';
import { jwt } from 'better-auth/plugins/jwt';

/** The `aud` of the tokens: whom they are meant for. */
export const AUDIENCE = 'notes';

/** Everything that is kept is in `folder`; people reach it at `origin`, which is the `iss` of the tokens too. */
export async function openAuth(folder: string, origin: string) {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const auth = betterAuth({
    baseURL: origin,
    secret: secretOf(folder),
    database: new Database(join(folder, 'login.db')),
    emailAndPassword: { enabled: true },
    // Duet asks nobody about a token, so one that is stolen works until it expires: soon.
    plugins: [
      jwt({ jwt: { issuer: origin, audience: AUDIENCE, expirationTime: '5m', definePayload: () => ({}) } }),
    ],
  });
  await (await getMigrations(auth.options)).runMigrations();
  return auth;
}

/** What cookies are signed with, and the keys of tokens encrypted: made at the first start, and for nobody else to read. */
function secretOf(folder: string): string {
  const file = join(folder, 'secret');
  if (!existsSync(file)) writeFileSync(file, randomBytes(32).toString('hex'), { mode: 0o600 });
  return readFileSync(file, 'utf8');
}
