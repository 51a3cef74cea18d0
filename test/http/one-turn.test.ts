/** However much arrives in one turn of the event loop, only its beginning is worked on there: others are read in between. */

import { afterEach, beforeEach, expect, spyOn, test } from 'bun:test';
import { watchLag } from '../../src/http/guard/load.ts';
import { Runner } from '../../src/storage/sqlite/runner.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { JSON_HEADERS, openApp, withOwn } from '../app.ts';

const sdl = 'type Note @resource { id: ID!  text: String }';
const data = { notes: Array.from({ length: 100 }, (_, at) => ({ id: at + 1, text: 'x'.repeat(1000) })) };
const turned = () => new Promise(setImmediate);

let unwatch: () => void;
beforeEach(() => {
  unwatch = watchLag();
});
afterEach(() => unwatch());

test.each(['/notes', '/nowhere'])('requests that are begun as they are read: %s', async (path) => {
  const app = await openApp('sqlite', { sdl, data });
  // From now on this route has a long answer.
  await (await app.fetch(path)).text();
  await turned();
  app.observations.length = 0;
  let now = performance.now();
  const clock = spyOn(performance, 'now').mockImplementation(() => now);
  const asked = Array.from({ length: 4 }, () => {
    const answer = app.fetch(path);
    now += 30;
    return answer;
  });
  const atOnce = app.observations.length;
  clock.mockRestore();
  const answers = await Promise.all(asked);
  expect(atOnce).toBe(2);
  expect(new Set(answers.map(({ status }) => status)).size).toBe(1);
  expect(app.observations).toHaveLength(4);
  await app.close();
});

test('those of a route that turns out to have long answers do not keep others waiting', async () => {
  let now = performance.now();
  // Each read takes longer than others are kept waiting.
  const around = (storage: Storage) => {
    const prepare: Storage['prepare'] = (statement) => {
      const ask = storage.prepare(statement);
      return (...given) => {
        now += 8;
        return ask(...given);
      };
    };
    return withOwn(storage, { prepare });
  };
  const app = await openApp('sqlite', { sdl, data, around });
  await (await app.fetch('/notes?limit=1')).text();
  await turned();
  const done: string[] = [];
  const ask = async (path: string) => {
    expect((await app.fetch(path)).status).toBe(200);
    done.push(path);
  };
  using _clock = spyOn(performance, 'now').mockImplementation(() => now);
  const [first, ...others] = ['/notes?sort=text', '/notes?sort=-text', '/notes?sort=-id'] as const;
  await Promise.all([first, ...others, '/notes/1'].map(ask));
  expect(done).toEqual([first, '/notes/1', ...others]);
  await app.close();
});

test('bodies that arrive later than their heads', async () => {
  const app = await openApp('sqlite', { sdl, data });
  const bodies = Array.from({ length: 8 }, () => Promise.withResolvers<void>());
  const asked = bodies.map(({ promise }) => {
    const body = new ReadableStream({
      async start(controller) {
        await promise;
        controller.enqueue(Buffer.from('[]'));
        controller.close();
      },
    });
    return app.fetch('/notes', { method: 'POST', headers: { ...JSON_HEADERS, 'Content-Length': '2' }, body });
  });
  await turned();
  await turned();
  expect(app.observations).toEqual([]);
  // Every look at the clock is one too late to go on.
  let now = performance.now();
  const clock = spyOn(performance, 'now').mockImplementation(() => {
    now += 6;
    return now;
  });
  for (const { resolve } of bodies) resolve();
  let most = 0;
  for (let before = 0; before < bodies.length; ) {
    await turned();
    const done = app.observations.length;
    most = Math.max(most, done - before);
    before = done;
  }
  clock.mockRestore();
  expect(most).toBe(1);
  expect((await Promise.all(asked)).map(({ status }) => status)).toEqual(bodies.map(() => 400));
  await app.close();
});

test('pages of exports that go on at once', async () => {
  const many = { notes: Array.from({ length: 1200 }, (_, at) => ({ id: at + 1, text: `${at}` })) };
  const app = await openApp('sqlite', { sdl, data: many });
  let turn = 0;
  let isOver = false;
  const count = () => {
    turn++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const turns: number[] = [];
  const { drive } = Runner.prototype;
  const reads = spyOn(Runner.prototype, 'drive').mockImplementation(function (this: Runner, ...of) {
    turns.push(turn);
    return drive.apply(this, of) as never;
  });
  // Every look at the clock is one too late to go on.
  let now = performance.now();
  const clock = spyOn(performance, 'now').mockImplementation(() => {
    now += 6;
    return now;
  });
  const asked = Array.from({ length: 6 }, async () => {
    const answer = await app.fetch('/notes?sort=-text', { headers: { Accept: 'text/csv' } });
    return (await answer.text()).trim().split('\n').length;
  });
  const lines = await Promise.all(asked);
  isOver = true;
  clock.mockRestore();
  reads.mockRestore();
  expect(lines).toEqual(Array(6).fill(1201));
  expect(turns.length).toBeGreaterThan(6);
  expect(new Set(turns).size).toBe(turns.length);
  await app.close();
});

test('what functions of a query read, however short their answers are', async () => {
  const done: string[] = [];
  const logic = {
    Query: {
      // biome-ignore lint/correctness/useYield: it asks for nothing.
      *slow(): Generator<never, number> {
        const until = performance.now() + 12;
        while (performance.now() < until);
        return done.push('slow');
      },
    },
  };
  const app = await openApp('sqlite', { sdl: `${sdl} type Query { slow: Int! @action }`, logic });
  await app.graphql('{ slow }');
  done.length = 0;
  const asked = Array.from({ length: 5 }, () => app.graphql('{ slow }'));
  const others = async () => {
    for (let turns = 0; turns < 8; turns++) {
      await turned();
      done.push('somebody else');
    }
  };
  const [answers] = await Promise.all([Promise.all(asked), others()]);
  expect(answers.map(({ errors }) => errors)).toEqual(Array(5).fill(undefined));
  // In one piece, all that had arrived would have been done before anybody else.
  const stretches = done.join(' ').split(/(?: ?somebody else ?)+/);
  expect(Math.max(...stretches.map((each) => each.split(' ').length))).toBeLessThan(3);
  await app.close();
});

test.each(['application/json', 'application/graphql-response+json', 'text/event-stream'])(
  'a query whose turn comes too late is turned away as all are: %s',
  async (accept) => {
    let now = performance.now();
    const logic = {
      Query: {
        // biome-ignore lint/correctness/useYield: it asks for nothing.
        *slow(): Generator<never, number> {
          now += 1000;
          return 1;
        },
      },
    };
    const app = await openApp('sqlite', {
      sdl: `${sdl} type Query { slow: Int @action }`,
      logic,
      env: { LIMIT_LAG: '10' },
    });
    using _clock = spyOn(performance, 'now').mockImplementation(() => now);
    const body = JSON.stringify({ query: '{ slow notes { id } }' });
    const headers = { ...JSON_HEADERS, Accept: accept };
    const asked = [1, 2, 3].map(() => app.fetch('/graphql', { method: 'POST', headers, body }));
    const [first, ...others] = await Promise.all(asked);
    expect(await first?.text()).toInclude('{"data":{"slow":1,"notes":[]}}');
    for (const each of others) {
      expect([each.status, each.headers.get('Retry-After')]).toEqual([503, '1']);
      expect(await each.json()).toEqual({
        errors: [
          {
            message: 'The service is overloaded; retry in 1 s.',
            extensions: { code: 'UNAVAILABLE' },
          },
        ],
      });
    }
    await app.close();
  },
);

/** How many turns of the event loop others had while each look at the clock was one too late to go on. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  let now = performance.now();
  using _clock = spyOn(performance, 'now').mockImplementation(() => {
    now += 6;
    return now;
  });
  setImmediate(count);
  await work();
  isOver = true;
  return turns;
}

test('what a transaction or a mutation answers is written result by result', async () => {
  const app = await openApp('sqlite', { sdl });
  const send = async (path: string, body: object) => {
    const answer = await app.fetch(path, {
      method: 'POST',
      headers: JSON_HEADERS,
      body: JSON.stringify(body),
    });
    expect([answer.status, (await answer.text()).match(/"text":"x"/g)?.length]).toEqual([200, 20]);
  };
  const operations = Array.from({ length: 20 }, () => ({
    method: 'POST',
    path: '/notes',
    body: { text: 'x' },
  }));
  const fields = Array.from({ length: 20 }, (_, at) => `f${at}: createNote(text: "x") { text }`);
  const transaction = () => send('/transaction', { operations });
  const mutation = () => send('/graphql', { query: `mutation @atomic { ${fields.join(' ')} }` });
  for (const work of [transaction, mutation]) {
    await work();
    expect(await turnsDuring(work)).toBeGreaterThan(20);
  }
  await app.close();
});
