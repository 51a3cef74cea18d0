/** Routes below `/hooks/`, schedules, and what is wrong with either. */

import { describe, expect, test } from 'bun:test';
import { readLogic } from '../../src/engine/logic/logic.ts';
import { readSchema } from '../../src/schema/read.ts';
import { databases, openApp } from '../app.ts';
import { headersOf, SECRET } from './access-matrix.ts';

const sdl = `
  type Payment @resource @allow(to: [READ]) @allow(to: [CREATE], role: "clerk") { id: ID!  amount: Int! }
`;

const logic = {
  routes: {
    'POST /hooks/payments': async (request: Request, { api, caller }: any) => {
      const { amount } = (await request.json()) as { amount: number };
      const as = caller.subject === undefined ? api : api.as(caller);
      const made = await as.payments.create({ amount });
      return Response.json(
        { id: made.id, by: caller.subject ?? null, signed: request.headers.get('X-Signature') },
        { status: 201, headers: { 'X-Own': 'yes' } },
      );
    },
    'GET /hooks/payments': () => new Response('here'),
    'GET /hooks/elsewhere': async () => Response.redirect('https://example.com/', 302),
    'POST /hooks/broken': async () => {
      throw new Error('a mistake of mine');
    },
    'POST /hooks/nothing': async () => undefined,
    'POST /hooks/slow': async (_: Request, { signal }: any) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      aborted = true;
      return new Response();
    },
  },
};
let aborted = false;

describe.each([...databases])('routes on %s', (database) => {
  test('are given the request, the api and the caller', async () => {
    const app = await openApp(database, {
      sdl,
      logic,
      env: { AUTH_SECRET: SECRET },
    });
    const headers = { 'X-Signature': 's' };
    const made = await app.rest('POST', '/hooks/payments', { amount: 5 }, headers);
    expect([made.status, made.body, made.headers.get('X-Own')]).toEqual([
      201,
      { id: 1, by: null, signed: 's' },
      'yes',
    ]);
    expect(made.headers.get('X-Request-Id')).toBeString();
    expect((await app.rest('GET', '/payments/1')).body.amount).toBe(5);

    const clerk = await headersOf({ name: 'clerk', claims: { sub: 'c', roles: ['clerk'] } });
    expect((await app.rest('POST', '/hooks/payments', { amount: 6 }, clerk)).body.by).toBe('c');
    const bad = { Authorization: 'Bearer nonsense' };
    expect((await app.rest('POST', '/hooks/payments', { amount: 6 }, bad)).status).toBe(401);

    expect((await app.rest('GET', '/hooks/payments')).body).toBe('here');
    expect((await app.fetch('/hooks/payments', { method: 'HEAD' })).status).toBe(200);
    const wrong = await app.rest('PUT', '/hooks/payments', {});
    expect([wrong.status, wrong.headers.get('Allow')]).toEqual([405, 'POST, GET, HEAD, OPTIONS']);
    expect((await app.rest('POST', '/hooks/nowhere', {})).status).toBe(404);
    const redirect = await app.fetch('/hooks/elsewhere');
    expect([redirect.status, redirect.headers.get('Location')]).toEqual([302, 'https://example.com/']);
    await app.close();
  });

  test('have the limits of any request, and their errors are not for the client', async () => {
    const env = { LIMIT_DEADLINE: '500', LIMIT_BODY: '1000' };
    const app = await openApp(database, { sdl, logic, env });
    const long = await app.rest('POST', '/hooks/payments', { amount: 'x'.repeat(2000) });
    expect([long.status, long.body.code]).toEqual([413, 'BODY_TOO_LARGE']);
    aborted = false;
    const slow = await app.rest('POST', '/hooks/slow', {});
    expect([slow.status, slow.body.code, aborted]).toEqual([503, 'OUTCOME_UNKNOWN', true]);
    const failures = () =>
      app.observations.flatMap((each: any) => (each.event === 'failure' ? [each.cause.message] : []));
    for (const path of ['broken', 'nothing']) {
      const { status, body } = await app.rest('POST', `/hooks/${path}`, {});
      expect([status, body.code]).toEqual([500, 'INTERNAL']);
    }
    expect(failures()).toEqual([
      'a mistake of mine',
      "routes['POST /hooks/nothing'] must answer with a Response",
    ]);
    // What the function was sent and could not read is its own to answer.
    const unread = await app.fetch('/hooks/payments', { method: 'POST', body: '{' });
    expect(unread.status).toBe(500);
    await app.close();
  });
});

test('the file says what is wrong with it', () => {
  const { model } = readSchema('type Hook @resource { id: ID! }');
  const { faults } = readLogic(
    {
      Hook: { *afterCreate() {}, afterUpdate: 7, afterDelete: { timeout: 0, after: 1, async run() {} } },
      schedule: {
        nightly: { cron: '0 3 * *', async run() {} },
        hourly: { cron: '0 * * * *', *run() {} },
        daily: { cron: '0 0 * * *' },
        never: 7,
      },
      routes: {
        '/hooks/x': async () => {},
        'POST /elsewhere': async () => {},
        'POST /hooks/x': async () => {},
      },
    },
    model,
  );
  expect(faults).toEqual([
    '"Hook.afterCreate" is a generator, but runs outside of any transaction, where nothing is yielded to. Write: async afterCreate({ record, api }) { … }, and await api.… instead of yield* tx.…',
    '"Hook.afterUpdate" must be a function. Write: async afterUpdate({ record, api }) { … }',
    '"Hook.afterDelete.after" is not known. There are: timeout, run.',
    '"Hook.afterDelete.timeout" must be a number of milliseconds. Write: timeout: 60_000',
    `"schedule.nightly.cron": "0 3 * *" has 4 fields, and must have five: minute, hour, day of the month, month, day of the week. Write: cron: '0 3 * * *', which is every day at 3:00 UTC`,
    '"schedule.hourly.run" is a generator, but runs outside of any transaction, where nothing is yielded to. Write: async run({ api }) { … }, and await api.… instead of yield* tx.…',
    '"schedule.daily.run" must be a function. Write: async run({ api }) { … }',
    `"schedule.never" must be an object. Write: nightly: { cron: '0 3 * * *', async run({ api }) { … } }`,
    `"routes['/hooks/x']" is no method and path below /hooks/. Write: 'POST /hooks/payments': async (request, { api }) => new Response(null, { status: 204 })`,
    `"routes['POST /elsewhere']" is no method and path below /hooks/. Write: 'POST /hooks/payments': async (request, { api }) => new Response(null, { status: 204 })`,
    '"routes" and the type Hook are both at /hooks. Choose another path for the type: @resource(path: "…")',
  ]);
  expect(readLogic({ schedule: 7, routes: [] }, undefined).faults).toHaveLength(2);
});
