/** Tokens that are signed as they should be and say or spell something odd: a 401 with its challenge, and never a 500. */

import { afterAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { SignJWT } from 'jose';
import { type AppUnderTest, databases, openApp } from '../app.ts';
import { sdl } from './guarded.ts';
import { AUDIENCE, bearer, ISSUER, Issuer, sound } from './issuer.ts';

const SECRET = 'a secret of at least thirty-two bytes';
const env = { AUTH_SECRET: SECRET, AUTH_ISSUER: ISSUER, AUTH_AUDIENCE: AUDIENCE };

const sign = (claims: Record<string, unknown>) =>
  new SignJWT(sound(claims)).setProtectedHeader({ alg: 'HS256' }).sign(new TextEncoder().encode(SECRET));

/** What both doors say to the holder of a token. */
async function told(app: AppUnderTest, token: string) {
  const rest = await app.rest('GET', '/notes', undefined, bearer(token));
  const graphql = await app.rest('POST', '/graphql', { query: '{ notes { id } }' }, bearer(token));
  const code = [rest.body.code, graphql.body.errors?.[0].extensions.code];
  return [rest, graphql].map(({ status, headers }, door) => [
    status,
    code[door],
    headers.get('WWW-Authenticate')?.slice(0, 'Bearer error="invalid_token"'.length),
  ]);
}

const refused = Array(2).fill([401, 'UNAUTHENTICATED', 'Bearer error="invalid_token"']);
const welcome = Array(2).fill([200, undefined, undefined]);

const isText = (value: unknown) => typeof value === 'string';
const isNumber = (value: unknown) => typeof value === 'number';
const isTexts = (value: unknown) => Array.isArray(value) && value.every(isText);
const isRoles = (value: unknown) => value === null || isText(value) || isTexts(value);

/** Every claim that is read here, and the values that it may have for all that its type says. */
const claims: Record<string, (value: unknown) => boolean> = {
  sub: isText,
  roles: isRoles,
  role: isRoles,
  exp: isNumber,
  nbf: isNumber,
  iat: isNumber,
  iss: isText,
  aud: (value) => isText(value) || isTexts(value),
};

const odd = fc.oneof(
  fc.constantFrom<unknown>(0, 7, -1, 1.5, 1e21, true, false, null, '', [], {}, [''], [7], ['a', 7], [['a']]),
  fc.constantFrom<unknown>({ a: 'b' }, { includes: 1 }, { length: 1, 0: 'a' }, 'a\0b', '\ud800', 'key:ci'),
  fc.jsonValue({ maxDepth: 2 }),
);

describe.each([...databases])('on %s', (database) => {
  const opened = openApp(database, { sdl, env });
  afterAll(async () => (await opened).close());

  test.each(Object.keys(claims))(
    'a %s of any other type is refused, and no value of it is a failure',
    async (name) => {
      const app = await opened;
      expect(await told(app, await sign({}))).toEqual(welcome);
      const property = fc.asyncProperty(odd, async (value) => {
        const answer = await told(app, await sign({ [name]: value }));
        if (!claims[name]?.(value)) expect(answer).toEqual(refused);
        else expect([refused, welcome]).toContainEqual(answer);
      });
      await fc.assert(property, { numRuns: 60 });
      expect(app.observations.filter(({ event }) => event === 'failure')).toEqual([]);
    },
  );

  test('no claims at all, or something else in their place, are refused', async () => {
    const app = await opened;
    const key = await crypto.subtle.importKey(
      'raw',
      new TextEncoder().encode(SECRET),
      { name: 'HMAC', hash: 'SHA-256' },
      false,
      ['sign'],
    );
    const property = fc.asyncProperty(fc.oneof(fc.json(), fc.string()), fc.json(), async (payload, alg) => {
      for (const head of ['{"alg":"HS256"}', `{"alg":${alg}}`, `{"alg":"HS256","crit":${alg}}`, alg]) {
        const text = [head, payload].map((part) => Buffer.from(part).toString('base64url')).join('.');
        const signature = await crypto.subtle.sign('HMAC', key, new TextEncoder().encode(text));
        const token = `${text}.${Buffer.from(signature).toString('base64url')}`;
        expect(await told(app, token)).toEqual(refused);
      }
    });
    await fc.assert(property, { numRuns: 40 });
  });
});

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** Other texts of the same bytes: with bits that no byte needs, with padding, or in the other alphabet. */
function respelt(part: string): string[] {
  const spare = [0, 0, 4, 2][part.length % 4] ?? 0;
  const last = LETTERS.indexOf(part.at(-1) ?? '');
  const flipped = Array.from(
    { length: 2 ** spare - 1 },
    (_, bits) => part.slice(0, -1) + LETTERS[last ^ (bits + 1)],
  );
  const classic = part.replaceAll('-', '+').replaceAll('_', '/');
  const padded = `${part}${'='.repeat((4 - (part.length % 4)) % 4)}`;
  return [...flipped, `${part}=`, padded, `${part}==`, classic].filter((each) => each !== part);
}

describe('a token is spelt in one way', () => {
  const check = async (app: AppUnderTest, token: string) => {
    expect(await told(app, token)).toEqual(welcome);
    const parts = token.split('.');
    for (const [at, part] of parts.entries())
      for (const other of respelt(part)) {
        const forged = parts.toSpliced(at, 1, other).join('.');
        expect([forged, await told(app, forged)]).toEqual([forged, refused]);
      }
  };

  test('with a shared secret', async () => {
    const app = await openApp('sqlite', { sdl, env });
    // Payloads of every length, so that every number of spare bits occurs.
    for (const more of ['', 'a', 'ab']) await check(app, await sign({ more }));
    await app.close();
  });

  test.each(['RS256', 'PS384', 'ES256', 'ES384', 'ES512', 'EdDSA'])('with %s', async (alg) => {
    await using issuer = await Issuer.start(alg);
    const app = await openApp('sqlite', { sdl, env: issuer.env });
    await check(app, await issuer.sign());
    await app.close();
  });
});
