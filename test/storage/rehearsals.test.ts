/** Writes on a slow disk are rehearsed in the serving process and done again by the one that writes: nothing comes between. */

import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openApp } from '../app.ts';
import { Folder } from '../process.ts';

const sdl = `
  type Counter @resource { id: ID!  count: Int!  marks: [Mark!]! }
  type Mark @resource { id: ID!  name: String! @unique  counter: Counter }
  type Word @resource { word: ID! @key  text: String }`;
const data = { counters: [{ count: 0 }] };

test('what others have written meanwhile is seen', async () => {
  using folder = new Folder();
  const app = await openApp('sqlite', { sdl, data, url: `sqlite:${folder.file('x.db')}` });
  using other = new Database(folder.file('x.db'));
  other.run('PRAGMA busy_timeout = 2000');
  const mark = (name: string) => app.rest('POST', '/marks', { name, counterId: 1 });
  for (let round = 0; round < 20; round++) {
    for (let calm = 0; calm < 3; calm++) expect((await mark(`calm ${round} ${calm}`)).status).toBe(201);
    other.run(`INSERT INTO "Mark" (name, "counterId", _version) VALUES ('other ${round}', 1, 1)`);
    const answers = await Promise.all([mark(`other ${round}`), mark(`after ${round}`)]);
    expect(answers.map(({ status }) => status)).toEqual([409, 201]);
  }
  const { body } = await app.rest('GET', '/marks');
  expect(body).toHaveLength(20 * 5);
  expect(new Set(body.map(({ id }: any) => id)).size).toBe(20 * 5);
  await app.close();
});

test('what others write between a rehearsal and its write is seen too', async () => {
  using folder = new Folder();
  const path = folder.file('x.db');
  const apart = [process.execPath, '--no-env-file', join(import.meta.dir, 'intruded-writer.ts')];
  const app = await openApp('sqlite', { sdl, data, url: `sqlite:${path}`, apart, slowMs: 0 });
  const mark = (name: string) => app.rest('POST', '/marks', { name, counterId: 1 });
  const intrude = (sql: string) => writeFileSync(`${path}.intrusion`, sql);
  const calm = async (name: string) => {
    for (let round = 0; round < 3; round++) expect((await mark(`${name} ${round}`)).status).toBe(201);
  };

  await calm('version');
  const { headers } = await app.rest('GET', '/counters/1');
  intrude('UPDATE "Counter" SET count = 7, _version = _version + 1');
  const tag = { 'If-Match': headers.get('ETag') ?? '' };
  expect((await app.rest('PUT', '/counters/1', { count: 1 }, tag)).status).toBe(412);
  expect((await app.rest('GET', '/counters/1')).body.count).toBe(7);

  await calm('unique');
  intrude(`INSERT INTO "Mark" (name, _version) VALUES ('taken', 1)`);
  expect((await mark('taken')).status).toBe(409);

  await calm('id');
  intrude(`INSERT INTO "Mark" (name, _version) VALUES ('before', 1)`);
  const { body } = await mark('behind');
  expect((await app.rest('GET', `/marks/${body.id}`)).body.name).toBe('behind');

  await calm('reference');
  intrude('UPDATE "Mark" SET "counterId" = NULL; DELETE FROM "Counter"');
  expect((await mark('nowhere')).status).toBe(409);
  await app.close();
});

test('two servers on one file lose no update, and each is told what happened', async () => {
  using folder = new Folder();
  const url = `sqlite:${folder.file('x.db')}`;
  const apps = [await openApp('sqlite', { sdl, data, url }), await openApp('sqlite', { sdl, data, url })];
  let won = 0;
  const clients = Array.from({ length: 8 }, async (_, client) => {
    const app = apps[client % 2];
    for (let round = 0; app && round < 40; round++) {
      const { body, headers } = await app.rest('GET', '/counters/1');
      const tag = { 'If-Match': headers.get('ETag') ?? '' };
      const { status } = await app.rest('PUT', '/counters/1', { count: body.count + 1 }, tag);
      if (status === 200) won++;
      const created = await app.rest('POST', '/marks', { name: `${client} ${round}`, counterId: 1 });
      expect(created.status).toBe(201);
      const found = await app.rest('GET', `/marks/${created.body.id}`);
      expect(found.body.name).toBe(`${client} ${round}`);
    }
  });
  await Promise.all(clients);
  expect((await apps[0]?.rest('GET', '/counters/1'))?.body.count).toBe(won);
  expect((await apps[1]?.rest('GET', '/marks?aggregate=count'))?.body).toEqual([{ count: 320 }]);
  for (const app of apps) await app.close();
});

test('what fails in a rehearsal leaves nothing behind, and natural keys keep their versions', async () => {
  using folder = new Folder();
  const app = await openApp('sqlite', { sdl, data, url: `sqlite:${folder.file('x.db')}` });
  await app.rest('POST', '/words', { word: 'first' });
  for (let round = 0; round < 10; round++) {
    const answers = await Promise.all([
      app.rest('POST', '/words', { word: 'again', text: `${round}` }),
      app.rest('POST', '/words', { word: 'first' }),
      app.rest('POST', '/transaction', {
        operations: [
          { method: 'POST', path: '/words', body: { word: `lost ${round}` } },
          { method: 'POST', path: '/words', body: { word: 'first' } },
        ],
      }),
      app.rest('POST', '/words', { word: `kept ${round}` }, { 'Idempotency-Key': `key-${round}` }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([201, 409, 409, 201]);
    expect(answers[0]?.headers.get('ETag')).toStartWith(`"${round + 1}-`);
    expect((await app.rest('DELETE', '/words/again')).status).toBe(204);
  }
  const words = (await app.rest('GET', '/words')).body.map(({ word }: any) => word);
  expect(words).toEqual(['first', ...Array.from({ length: 10 }, (_, round) => `kept ${round}`)]);
  await app.close();
});
