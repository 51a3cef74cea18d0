/** Who is asking: tokens and API keys, good ones and every bad one, through both doors. */

import { describe, expect, test } from 'bun:test';
import { exportJWK, exportSPKI, generateKeyPair, SignJWT } from 'jose';
import { databases, openApp, sharedPostgres } from '../app.ts';
import { command, Folder, Server } from '../process.ts';
import { Clock } from './clock.ts';
import { sdl, seen, withIssuer } from './guarded.ts';
import { bearer, Issuer, sound } from './issuer.ts';

const SECRET = 'a secret of at least thirty-two bytes';
const now = () => Math.floor(Date.now() / 1000);

const invalid = (why: string) => [
  401,
  'UNAUTHENTICATED',
  `Bearer error="invalid_token", error_description="${why}"`,
];

describe('a token of an issuer that publishes its keys', () => {
  test.each(['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA'])('signed with %s names its caller', async (alg) => {
    await withIssuer(async (app, issuer) => {
      const token = await issuer.sign();
      expect(await seen(app, bearer(token))).toBe('ann');
      expect(await seen(app, { Authorization: `bearer  ${token}` })).toBe('ann');
      expect(await seen(app, { authorization: `BEARER ${token}` })).toBe('ann');
      expect(issuer.asked).toBe(1);
    }, alg);
  });

  test('is refused when anything about it is wrong, in our own words', async () => {
    await withIssuer(async (app, issuer) => {
      const { kid, publicKey, privateKey } = issuer.key;
      const hmac = async (secret: string) =>
        new SignJWT(sound({}))
          .setProtectedHeader({ alg: 'HS256', kid })
          .sign(new TextEncoder().encode(secret));
      const strange = await generateKeyPair('ES256', { extractable: true });
      const own = await exportJWK(strange.publicKey);
      const stranger = (header: Record<string, unknown>) =>
        new SignJWT(sound({})).setProtectedHeader({ alg: 'ES256', ...header }).sign(strange.privateKey);
      const unsigned = [{ alg: 'none', kid }, sound({})]
        .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
        .join('.');
      const good = await issuer.sign();
      const [head = '', body = '', signature = ''] = good.split('.');
      const forged = Buffer.from(JSON.stringify(sound({ sub: 'root' }))).toString('base64url');
      const without = (claim: string) => issuer.sign({ [claim]: undefined });
      const rows: [string, string][] = [
        [await issuer.sign({ exp: now() - 10 }), 'The token has expired'],
        [await issuer.sign({ nbf: now() + 60 }), 'The nbf of the token is not acceptable'],
        [await issuer.sign({ iss: 'https://other.test/' }), 'The iss of the token is not acceptable'],
        [await issuer.sign({ aud: 'another' }), 'The aud of the token is not acceptable'],
        [await issuer.sign({ sub: 'key:ci' }), 'The sub of the token is not acceptable'],
        [await issuer.sign({ sub: '' }), 'The sub of the token is not acceptable'],
        [await issuer.sign({ sub: 'a\0b' }), 'The sub of the token is not acceptable'],
        [await without('exp'), 'The exp of the token is not acceptable'],
        [await without('iss'), 'The iss of the token is not acceptable'],
        [await without('aud'), 'The aud of the token is not acceptable'],
        [await without('sub'), 'The sub of the token is not acceptable'],
        [await issuer.sign({ exp: 'soon' as never }), 'The exp of the token is not acceptable'],
        [await issuer.sign({ exp: 1e300 }), 'The exp of the token is not acceptable'],
        [await hmac(await exportSPKI(publicKey)), 'The algorithm of the token is not accepted'],
        [
          await hmac(JSON.stringify(await exportJWK(publicKey))),
          'The algorithm of the token is not accepted',
        ],
        [await hmac(SECRET), 'The algorithm of the token is not accepted'],
        [`${unsigned}.`, 'The algorithm of the token is not accepted'],
        [await issuer.sign({}, { kid: 'unheard-of' }), 'The token is not signed with a known key'],
        [await stranger({ kid }), 'The token is not signed with a known key'],
        // A token must not bring its own key, nor say where to fetch it.
        [await stranger({ kid: 'mine', jwk: own }), 'The token is not signed with a known key'],
        [await stranger({ kid, jku: 'http://127.0.0.1:1/keys' }), 'The token is not signed with a known key'],
        [
          await new SignJWT(sound({}))
            .setProtectedHeader({ alg: 'ES256', kid, crit: ['x-new'], 'x-new': 1 })
            .sign(privateKey, { crit: { 'x-new': true } }),
          'The token is not a valid JWT',
        ],
        [`${head}.${forged}.${signature}`, 'The token is not signed with a known key'],
        [`${head}.${body}.`, 'The token is not signed with a known key'],
        [`${head}.${body}`, 'The token is not a valid JWT'],
        ['nonsense', 'The token is not a valid JWT'],
        ['....', 'The token is not a valid JWT'],
        [await issuer.sign({ more: 'x'.repeat(10_000) }), 'The token is longer than 8192 bytes'],
      ];
      for (const [token, why] of rows)
        expect([why, await seen(app, bearer(token))]).toEqual([why, invalid(why)]);
      expect(await seen(app, bearer(good))).toBe('ann');
    });
  });

  test('is wanted alone, after Bearer', async () => {
    await withIssuer(async (app, issuer) => {
      const token = await issuer.sign();
      const malformed = invalid('Authorization must be Bearer and one token');
      const request = new Headers([
        ['Authorization', `Bearer ${token}`],
        ['Authorization', `Bearer ${token}`],
      ]);
      const twice = await app.fetch('/notes', { headers: request });
      expect([twice.status, twice.headers.get('WWW-Authenticate')]).toEqual([401, malformed[2] ?? '']);
      for (const text of ['Bearer', 'Bearer ', `Bearer ${token} x`, `Bearer,${token}`, 'Bearer ü'])
        expect([text, await seen(app, { Authorization: text })]).toEqual([text, malformed]);
      for (const text of ['Basic dTpw', token, 'Bearerx y', '']) {
        const [status, , challenge] = await seen(app, { Authorization: text });
        expect([text, status, challenge]).toEqual([text, 401, 'Bearer']);
      }
    });
  });

  test('is looked at after path and method, before size and body; and not at all by health checks', async () => {
    await withIssuer(async (app) => {
      const headers = { ...bearer('bad'), 'Content-Type': 'application/json' };
      const status = async (method: string, path: string, body?: string) =>
        (await app.fetch(path, { method, headers, ...(body && { body }) })).status;
      expect(await status('GET', '/nowhere')).toBe(404);
      expect(await status('PATCH', '/notes')).toBe(405);
      expect(await status('GET', '/notes')).toBe(401);
      expect(await status('GET', '/notes/99')).toBe(401);
      expect(await status('POST', '/notes', 'x'.repeat(2_000_000))).toBe(401);
      for (const path of ['/', '/openapi.json', '/schema.graphql'])
        expect(await status('GET', path)).toBe(401);
      for (const path of ['/healthz', '/readyz']) expect(await status('GET', path)).toBe(200);
    });
  });

  test('that is bad is told to GraphQL in its own form, with the same code and challenge', async () => {
    await withIssuer(async (app) => {
      const answer = await app.rest('POST', '/graphql', { query: '{ notes { id } }' }, bearer('bad'));
      expect(answer.status).toBe(401);
      expect(answer.headers.get('WWW-Authenticate')).toStartWith('Bearer error="invalid_token"');
      expect(answer.body).toEqual({
        errors: [{ message: 'The token is not a valid JWT.', extensions: { code: 'UNAUTHENTICATED' } }],
      });
    });
  });

  test('without which the caller is anonymous: a 401 then names the way without blaming a token', async () => {
    await withIssuer(async (app) => {
      expect(await seen(app, {})).toEqual([401, 'UNAUTHENTICATED', 'Bearer']);
      expect((await app.rest('GET', '/notes')).status).toBe(200);
    });
  });
});

describe('a token signed with a shared secret', () => {
  const sign = (claims: Record<string, unknown>, secret = SECRET, alg = 'HS256') =>
    new SignJWT(sound(claims)).setProtectedHeader({ alg }).sign(new TextEncoder().encode(secret));

  test('names its caller, and only with HS256 and that secret', async () => {
    await using issuer = await Issuer.start();
    const app = await openApp('sqlite', { sdl, env: { AUTH_SECRET: SECRET } });
    expect(await seen(app, bearer(await sign({})))).toBe('ann');
    const algorithm = invalid('The algorithm of the token is not accepted');
    expect(await seen(app, bearer(await sign({}, `${SECRET}${SECRET}`, 'HS512')))).toEqual(algorithm);
    expect(await seen(app, bearer(await issuer.sign()))).toEqual(algorithm);
    const other = await sign({}, `${SECRET}!`);
    expect(await seen(app, bearer(other))).toEqual(invalid('The token is not signed with a known key'));
    await app.close();
  });

  test('stops working when it expires, however often it was seen before', async () => {
    using clock = new Clock();
    const app = await openApp('sqlite', { sdl, env: { AUTH_SECRET: SECRET } });
    // Beyond the tolerance in three seconds.
    const token = await sign({ exp: now() - 2 });
    expect(await seen(app, bearer(token))).toBe('ann');
    clock.advance(4200);
    expect(await seen(app, bearer(token))).toEqual(invalid('The token has expired'));
    const short = await sign({ exp: now() + 1 });
    expect(await seen(app, bearer(short))).toBe('ann');
    clock.advance(7000);
    expect(await seen(app, bearer(short))).toEqual(invalid('The token has expired'));
    await app.close();
  });
});

describe.each([...databases])('API keys on %s', (database) => {
  test('are made, listed and revoked by the command, and shown once', async () => {
    using folder = new Folder({ 'schema.graphql': sdl, 'data.json': '{}' });
    const DATABASE_URL = database === 'sqlite' ? 'sqlite:duet.db' : await (await sharedPostgres()).database();
    const key = (...args: string[]) => command(folder, ['key', ...args], { DATABASE_URL });
    const made = await key('create', '--name', 'ci', '--role', 'editor', '--role=reader');
    expect([made.exit, made.stdout]).toEqual([0, expect.stringMatching(/^duet_[A-Za-z0-9_-]{43}\n$/)]);
    const secret = made.stdout.trim();
    const again = await key('create', '--name=ci');
    expect([again.exit, again.stdout]).toEqual([2, '']);
    expect(again.stderr).toContain('there is a key "ci" already');

    const listed = await key('list');
    expect(listed.stdout).toMatch(/^ci\teditor reader\tcreated [\dT:.-]+Z\tin use\n$/);
    expect(listed.stdout + listed.stderr + made.stderr).not.toContain(secret.slice(5, 15));

    await using server = await Server.start(folder, { DATABASE_URL, AUTH_KEYS: 'on' });
    const post = async (headers: Record<string, string>) => {
      const init = { method: 'POST', body: '{"title":"x"}' };
      const json = { 'Content-Type': 'application/json' };
      return fetch(`${server.url}/notes`, { ...init, headers: { ...json, ...headers } });
    };
    const answer = await post(bearer(secret));
    expect(((await answer.json()) as any).owner).toBe('key:ci');
    expect((await post(bearer(`${secret.slice(0, -1)}${secret.endsWith('A') ? 'E' : 'A'}`))).status).toBe(
      401,
    );
    expect((await post(bearer('eyJh.e30.x'))).headers.get('WWW-Authenticate')).toContain('Only API keys');

    expect((await key('revoke', 'ci')).exit).toBe(0);
    for (let tries = 0; tries < 100 && (await post(bearer(secret))).status !== 401; tries++)
      await Bun.sleep(100);
    expect((await post(bearer(secret))).headers.get('WWW-Authenticate')).toContain(
      'The API key is not known',
    );
    expect((await key('revoke', 'ci')).exit).toBe(2);
    expect((await key('list')).stdout).toContain('revoked 2');

    const renewed = await key('create', '--name', 'ci');
    expect((await post(bearer(renewed.stdout.trim()))).status).toBe(201);
    expect((await post(bearer(secret))).status).toBe(401);
  });

  test("idempotency keys of one caller are nobody else's", async () => {
    const app = await openApp(database, { sdl, env: { AUTH_SECRET: SECRET } });
    const token = (sub: string) =>
      new SignJWT(sound({ sub })).setProtectedHeader({ alg: 'HS256' }).sign(new TextEncoder().encode(SECRET));
    const create = async (sub: string) => {
      const headers = { ...bearer(await token(sub)), 'Idempotency-Key': 'one' };
      return (await app.rest('POST', '/notes', { title: 'x' }, headers)).body;
    };
    const [ann, bob] = [await create('ann'), await create('bob')];
    expect([ann.owner, bob.owner]).toEqual(['ann', 'bob']);
    expect(await create('ann')).toEqual(ann);
    expect((await app.rest('GET', '/notes')).body.length).toBe(2);
    await app.close();
  });
});

describe('a wrong use of `duet key` is one line and exit 2', () => {
  const rows: [string[], string][] = [
    [[], 'use `key create'],
    [['make'], 'use `key create'],
    [['create'], 'use `key create'],
    [['create', 'ci'], 'use `key create'],
    [['create', '--name', 'a', '--name', 'b'], 'use `key create'],
    [['create', '--name', 'a b'], '"a b" must have 1 to 64'],
    [['create', '--name', 'a', '--role', ''], '"" must have 1 to 64'],
    [['create', '--name', 'a', '--rule', 'x'], 'unknown option "--rule"'],
    [['list', 'ci'], 'use `key create'],
    [['revoke'], 'use `key create'],
    [['revoke', 'nobody'], 'there is no key "nobody" in use'],
  ];
  test.each(rows)('%j', async (args, message) => {
    using folder = new Folder();
    const { stdout, stderr, exit } = await command(folder, ['key', ...args]);
    expect([stdout, exit]).toEqual(['', 2]);
    expect(stderr).toStartWith(`duet: ${message}`);
    expect(stderr.split('\n').length).toBe(2);
  });
});

describe('settings that would leave a door open are one line and exit 2', () => {
  const jwks = { AUTH_JWKS_URL: 'https://issuer.test/keys' };
  const rows: [Record<string, string>, string][] = [
    [{ AUTH_SECRET: 'short' }, 'AUTH_SECRET must be at least 32 bytes long'],
    [{ AUTH_SECRET: '' }, 'AUTH_SECRET must be at least 32 bytes long'],
    [{ AUTH_JWKS_URL: 'issuer.test' }, 'AUTH_JWKS_URL must be an https:// or http:// URL, not "issuer.test"'],
    [{ AUTH_JWKS_URL: '' }, 'AUTH_JWKS_URL must be an https:// or http:// URL, not ""'],
    [{ ...jwks, AUTH_SECRET: SECRET }, 'AUTH_JWKS_URL and AUTH_SECRET exclude each other'],
    [jwks, 'AUTH_JWKS_URL needs AUTH_ISSUER and AUTH_AUDIENCE'],
    [{ ...jwks, AUTH_ISSUER: 'x' }, 'AUTH_JWKS_URL needs AUTH_ISSUER and AUTH_AUDIENCE'],
    [{ AUTH_AUDIENCE: 'x' }, 'AUTH_ISSUER and AUTH_AUDIENCE need AUTH_JWKS_URL or AUTH_SECRET'],
    [{ AUTH_KEYS: 'yes' }, 'AUTH_KEYS must be one of on, off, not "yes"'],
  ];
  test.each(rows)('%j', async (env, message) => {
    using folder = new Folder();
    const { stdout, stderr, exit } = await command(folder, ['serve'], env);
    expect([stdout, exit]).toEqual(['', 2]);
    expect(stderr).toStartWith(`duet: ${message}`);
    expect(stderr.split('\n').length).toBe(2);
    expect(stderr).not.toContain('short');
  });

  test('--auth-secret is no flag', async () => {
    using folder = new Folder();
    const { stderr } = await command(folder, ['serve', `--auth-secret=${SECRET}`]);
    expect(stderr).toBe('duet: --auth-secret is read from the environment only: set AUTH_SECRET\n');
  });

  test('with authentication, the log does not say that there is none', async () => {
    using folder = new Folder();
    await using server = await Server.start(folder, { AUTH_SECRET: SECRET });
    await fetch(`${server.url}/healthz`);
    await server.logged('request');
    expect(JSON.stringify(server.log)).not.toContain('no authentication');
  });
});
