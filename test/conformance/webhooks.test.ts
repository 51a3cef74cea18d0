/** Webhooks: what receivers are told, signed, in order for one record; and what becomes of receivers that fail in every way. */

import { Database } from 'bun:sqlite';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { Webhook } from 'standardwebhooks';
import { Journal } from '../../src/engine/journal/journal.ts';
import { isPublic } from '../../src/engine/webhooks/addresses.ts';
import {
  addWebhook,
  eraseDeliveries,
  listWebhooks,
  removeWebhook,
  replayWebhook,
  rotateWebhook,
  testWebhook,
} from '../../src/engine/webhooks/operator.ts';
import { REPLAYED } from '../../src/engine/webhooks/stored.ts';
import { pauseAfter } from '../../src/engine/webhooks/webhooks.ts';
import type { Model } from '../../src/schema/model.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { type AppUnderTest, databases, openApp, sharedPostgres } from '../app.ts';
import { Folder } from '../process.ts';
import { Description } from '../rest/described.ts';
import { seen } from '../storage/seen.ts';

const sdl = `
  type Book @resource @journal { id: ID!  title: String!  price: Decimal @decimal(scale: 2) }
  type Shop @resource @journal { id: ID!  name: String!  orders: [Order!]! }
  type Order @resource @journal { id: ID!  n: Int!  shop: Shop @onDelete(do: CASCADE) }
  type Doc @resource @journal { id: ID!  body: JSON  tags: [String!] }
  type Plain @resource { id: ID! }
`;

interface Told {
  readonly headers: Record<string, string>;
  readonly text: string;
  readonly event: any;
}

/** A receiver that answers as it is told to, and 204 otherwise. */
class Receiver {
  readonly told: Told[] = [];
  answer: (told: Told) => Response | Promise<Response> | undefined = () => undefined;
  readonly #server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async (request) => {
      const text = await request.text();
      const told = { headers: request.headers.toJSON(), text, event: JSON.parse(text) };
      this.told.push(told);
      return (await this.answer(told)) ?? new Response(null, { status: 204 });
    },
  });
  readonly url = `http://127.0.0.1:${this.#server.port}/hook`;

  get events(): string[] {
    return this.told.map(({ event }) => `${event.type} ${event.subject} ${event.data?.version}`);
  }

  close(): void {
    this.#server.stop(true);
  }
}

async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 1_500; tries++) {
    if (await holds()) return;
    await Bun.sleep(20);
  }
  throw new Error(`${what} did not happen`);
}

describe.each([...databases])('on %s', (database) => {
  const folder = new Folder();
  let app: AppUnderTest;
  let journal: Journal;
  let model: Model;
  let query: (text: string) => Promise<any[]>;
  let hook: Receiver;
  let added: { id: string; secret: string };
  const admin: { close?: () => unknown } = {};

  beforeAll(async () => {
    const path = folder.file('duet.db');
    const url = database === 'sqlite' ? `sqlite:${path}` : await (await sharedPostgres()).database();
    const around = (storage: Storage, of: Model) => {
      model = of;
      journal = new Journal(storage, of);
      return storage;
    };
    app = await openApp(database, { sdl, url, around, env: { WEBHOOK_TIMEOUT: '300' } });
    if (database === 'postgres') {
      const sql = new Bun.SQL(url, { max: 1 });
      admin.close = () => sql.close();
      query = async (text) => [...(await sql.unsafe(text))];
    } else
      query = async (text) => {
        using file = new Database(path);
        file.run('PRAGMA busy_timeout = 5000');
        return file.query(text).all();
      };
  });
  afterAll(async () => {
    await app.close();
    await admin.close?.();
    folder[Symbol.dispose]();
  });
  afterEach(async () => {
    for (const { id } of await listWebhooks(journal)) await removeWebhook(journal, id);
    hook?.close();
  });

  /** To all events of books, unless others are named. */
  const add = async (...on: string[]) => {
    hook = new Receiver();
    const events = on.length > 0 ? on : ['Book.*'];
    added = await addWebhook(journal, model, { url: hook.url, on: events, allowsPrivate: true });
    return hook;
  };
  const create = async (title: string) => (await app.rest('POST', '/books', { title })).body.id;
  const retitle = (id: number, title: string) => app.rest('PUT', `/books/${id}`, { title });
  const only = async () =>
    (await listWebhooks(journal))[0] as NonNullable<Awaited<ReturnType<typeof listWebhooks>>[0]>;
  /** Those that wait are due at once. */
  const hurry = () => query('UPDATE "_duet_jobs" SET "due" = 0 WHERE "holder" IS NULL RETURNING 1');
  const waited = (count: number) => until(`${count} deliveries`, () => hook.told.length >= count);

  test('JSON is told as the record has it', async () => {
    await add('Doc.*');
    const body = [
      'a "text" with \\ and \u2028, 😀\\',
      { event: { data: null }, '': [{}, 1e21] },
      'x'.repeat(2000),
    ];
    const shown = (await app.rest('POST', '/docs', { body, tags: ['"', '\\'] })).body;
    await waited(1);
    expect(hook.told[0]?.text).toEndWith(`"before":null,"after":${JSON.stringify(shown)}}}`);
    expect(hook.told[0]?.event).toMatchObject({
      id: expect.any(String),
      type: 'Doc.created',
      data: { after: shown },
    });
    await until('it is noted', async () => (await only()).deliveries.length > 0);
    expect((await only()).deliveries[0]).toMatchObject({
      type: 'Doc.created',
      record: String(shown.id),
      status: 204,
    });
  });

  test('receivers that never answer keep nobody else from being told', async () => {
    let of: Model | undefined;
    let read: Journal | undefined;
    const around = (storage: Storage, its: Model) => {
      of = its;
      read = new Journal(storage, its);
      return storage;
    };
    const own = await openApp(database, { sdl, around, env: { WEBHOOK_TIMEOUT: '60000' } });
    const receivers = Array.from({ length: 8 }, () => new Receiver());
    const [good, ...silent] = receivers as [Receiver, ...Receiver[]];
    for (const each of silent) each.answer = () => new Promise(() => {});
    for (const { url } of receivers)
      await addWebhook(read as Journal, of as Model, { url, on: ['Book.*'], allowsPrivate: true });
    const books = (length: number) => Array.from({ length }, (_, at) => ({ title: `t${at}` }));
    const create = async (count: number) => {
      const { body } = await own.rest('POST', '/transaction', {
        operations: [{ method: 'POST', path: '/books', body: books(count) }],
      });
      expect(body.results[0].status).toBe(201);
    };
    await create(20);
    await until('the first are told', () => good.told.length >= 20);
    await create(20);
    await until('all are told', () => good.told.length >= 40);
    for (const each of receivers) each.close();
    await own.close();
  }, 60_000);

  test('what is told: changes as CloudEvents, signed as Standard Webhooks has it, of the events that were asked for', async () => {
    await add('Book.created', 'Order.*');
    const id = await create('Dune');
    await retitle(id, 'Dune II');
    const { data } = await app.graphql(
      'mutation { createShop(name: "s", orders: [{ n: 1 }, { n: 2 }]) { id orders { id } } }',
    );
    await app.rest('DELETE', `/shops/${data.createShop.id}`);
    await waited(5);
    const [one, two] = data.createShop.orders.map((order: any) => order.id);
    expect(hook.events.toSorted()).toEqual(
      [
        `Book.created ${id} 1`,
        ...[one, two].flatMap((order) => [`Order.created ${order} 1`, `Order.deleted ${order} 1`]),
      ].toSorted(),
    );
    const [told] = hook.told.filter(({ event }) => event.type === 'Book.created') as [Told];
    const { body: changes } = await app.rest('GET', `/changes/books/${id}`);
    expect(told.event).toEqual({
      specversion: '1.0',
      id: changes[0].position,
      source: '/books',
      type: 'Book.created',
      subject: String(id),
      time: changes[0].at,
      datacontenttype: 'application/json',
      data: changes[0],
    });
    expect(told.headers['content-type']).toBe('application/cloudevents+json; charset=utf-8');
    expect(told.headers['webhook-id']).toBe(told.event.id);
    // What it answers is not read.
    expect(told.headers).not.toHaveProperty('accept-encoding');
    const description = await Description.of(app);
    expect(Object.keys(description.document.webhooks)).toEqual(['Book.*', 'Shop.*', 'Order.*', 'Doc.*']);
    for (const { event } of hook.told) {
      const body = `#/webhooks/${event.type.split('.')[0]}.*/post/requestBody/content/application~1cloudevents+json`;
      description.fit(`${body}/schema`, event, event.type);
    }
    for (const { text, headers } of hook.told)
      expect(new Webhook(added.secret).verify(text, headers)).toEqual(JSON.parse(text));
    expect(() => new Webhook(added.secret).verify(told.text.replace('Dune', 'Dusk'), told.headers)).toThrow();
  });

  test('a receiver that fails is tried again; the later events of the record wait for it, and no others', async () => {
    await add();
    hook.answer = ({ event }) =>
      event.data.after?.title === 'first' && hook.told.length === 1
        ? new Response('no', { status: 500 })
        : undefined;
    const id = await create('first');
    await waited(1);
    await retitle(id, 'second');
    const other = await create('other');
    await until('the other', () => hook.events.includes(`Book.created ${other} 1`));
    await until('the note', async () => (await only()).deliveries.length === 2);
    expect((await only()).waiting).toBe(2);
    await hurry();
    await waited(4);
    expect(hook.events.filter((each) => !each.includes(` ${other} `))).toEqual([
      `Book.created ${id} 1`,
      `Book.created ${id} 1`,
      `Book.updated ${id} 2`,
    ]);
    expect(hook.told[0]?.event).toEqual(
      hook.told.find(({ event }, at) => at > 0 && event.subject === String(id))?.event,
    );
    await until('the notes', async () => (await only()).deliveries.length === 4);
    const { deliveries } = await only();
    const [first] = deliveries.filter(({ result }) => result === 'again');
    expect(first).toMatchObject({
      attempt: 1,
      status: 500,
      error: 'the receiver answered 500',
      type: 'Book.created',
    });
    expect(deliveries.filter(({ result }) => result === 'delivered').map(({ status }) => status)).toEqual([
      204, 204, 204,
    ]);
    const { body: metrics } = await app.rest('GET', '/metrics');
    expect(metrics).toMatch(/duet_webhook_deliveries_total\{outcome="done"\} [1-9]/);
    expect(metrics).toMatch(/duet_webhook_deliveries_total\{outcome="again"\} [1-9]/);
    expect(metrics).toMatch(/duet_webhook_deliveries_waiting \d/);
    expect(metrics).toMatch(/duet_webhook_lag_seconds \d/);
  });

  test.each([
    ['hangs', () => new Promise<Response>(() => {}), null, 'it took longer than 300 ms'],
    [
      'redirects',
      () => new Response(null, { status: 307, headers: { Location: '/elsewhere' } }),
      307,
      'the receiver answered 307, and redirects are not followed',
    ],
  ] as const)('a receiver that %s is tried again', async (_, answer, status, error) => {
    await add();
    hook.answer = () => (hook.told.length === 1 ? answer() : undefined);
    const record = String(await create('x'));
    await until('the note', async () => (await only()).deliveries.length === 1);
    expect((await only()).deliveries).toMatchObject([{ record, attempt: 1, result: 'again', status, error }]);
    await hurry();
    await waited(2);
    expect(hook.events[0]).toBe(hook.events[1] as string);
  });

  test('Retry-After is honoured where it asks for more than the pause, up to a day', async () => {
    await add();
    const asked = ['7200', new Date(Date.now() + 7_200_000).toUTCString(), '99999999'];
    for (const [at, wanted] of asked.entries()) {
      hook.answer = () => new Response(null, { status: 429, headers: { 'Retry-After': wanted } });
      await create('x');
      await until('the note', async () => (await only()).deliveries.length === at + 1);
      const [row] = await query('SELECT "due" FROM "_duet_jobs" ORDER BY "version" DESC LIMIT 1');
      const hours = (Number(row.due) - Date.now()) / 3_600_000;
      expect([hours > 1.9, hours < (at === 2 ? 29 : 2.5), hours > 20]).toEqual([true, true, at === 2]);
    }
  });

  test('410 disables it; a replay from where it stands misses nothing, in order, under the same ids', async () => {
    await add();
    const id = await create('a');
    await waited(1);
    hook.answer = () => new Response(null, { status: 410 });
    await retitle(id, 'b');
    await until('the end of it', async () => (await only()).disabled !== null);
    await retitle(id, 'c');
    const { disabled, position, waiting, deliveries } = await only();
    expect([disabled, waiting]).toEqual(['the receiver answered 410', 0]);
    expect(deliveries[0]).toMatchObject({ result: 'failed', status: 410 });
    expect(hook.told).toHaveLength(2);
    hook.answer = () => undefined;
    await replayWebhook(journal, model, added.id, position);
    await waited(4);
    expect(hook.events).toEqual(
      [1, 2, 2, 3].map((version) => `Book.${version === 1 ? 'created' : 'updated'} ${id} ${version}`),
    );
    const { body: changes } = await app.rest('GET', `/changes/books/${id}`);
    const ids = changes.map((change: any) => change.position);
    await replayWebhook(journal, model, added.id, ids[0]);
    await waited(6);
    expect(hook.told.slice(2).map(({ event }) => event.id)).toEqual([ids[1], ids[2], ids[1], ids[2]]);
    await expect(replayWebhook(journal, model, added.id, 'x')).rejects.toThrow('"x" is no position');
    await query(`UPDATE "_duet_webhooks" SET "position" = "position" - 1 RETURNING 1`);
    await expect(replayWebhook(journal, model, added.id, ids[2])).rejects.toThrow('yet to come');
  });

  test('one that is disabled while many wait, some of them before what it refused: a replay tells of all of these', async () => {
    await add();
    const answers = [500, 410];
    hook.answer = () => new Response(null, { status: answers.shift() ?? 204 });
    await create('first');
    await until('the note', async () => (await only()).deliveries.length === 1);
    // More than are taken away at once.
    const records = Array.from({ length: 1_200 }, (_, n) => ({ title: `${n}` }));
    await app.graphql('mutation ($records: [BookInput!]!) { createBooks(records: $records) { id } }', {
      records,
    });
    await until('the end of it', async () => (await only()).disabled !== null);
    await until('nothing that waits', async () => (await only()).waiting === 0);
    const { position, disabled } = await only();
    expect(disabled).toBe('the receiver answered 410');
    const before = new Set(hook.told.map(({ event }) => event.subject)).size;
    expect(before).toBeLessThan(1_201);
    hook.told.length = 0;
    await replayWebhook(journal, model, added.id, position);
    await waited(1_201);
    expect(new Set(hook.told.map(({ event }) => event.data.after.title)).size).toBe(1_201);
    expect(await only()).toMatchObject({ disabled: null });
  });

  test('what a node that died has left of one that was removed is taken away by the next', async () => {
    await query(`INSERT INTO "_duet_jobs" ("id", "hook", "lane", "version", "path", "attempt", "due", "at", "given")
      VALUES ('left', 'webhook:wh_0', 'lane', 1, '[]', 0, 0, 't', '{}') RETURNING 1`);
    await add();
    // Whoever sees one go looks for what is left.
    await until('it is in use', async () => {
      await create('x');
      return hook.told.length > 0;
    });
    await removeWebhook(journal, added.id);
    await until('nothing is left', async () => (await query('SELECT "id" FROM "_duet_jobs"')).length === 0);
  });

  test('a replay that a node has left half done is done by the next', async () => {
    await add();
    await create('x');
    await waited(1);
    await query(
      `UPDATE "_duet_webhooks" SET "position" = "position" - 1, "disabled" = '${REPLAYED}' RETURNING 1`,
    );
    await waited(2);
    expect((await only()).disabled).toBe(null);
  });

  test('the tenth attempt is the last: then the later events of the record are told', async () => {
    await add();
    hook.answer = ({ event }) => (event.data.version === 1 ? new Response(null, { status: 500 }) : undefined);
    const id = await create('bad');
    await waited(1);
    await retitle(id, 'good');
    await until('the note', async () => (await only()).deliveries.length === 1);
    await query('UPDATE "_duet_jobs" SET "attempt" = 9, "due" = 0 WHERE "attempt" = 1 RETURNING 1');
    await until('the later one', () => hook.events.includes(`Book.updated ${id} 2`));
    await until('the notes', async () => (await only()).deliveries.length === 3);
    expect((await only()).deliveries.map(({ attempt, result }) => `${attempt} ${result}`)).toEqual([
      '1 delivered',
      '10 failed',
      '1 again',
    ]);
    expect((await only()).waiting).toBe(0);
  });

  test('where a name leads is looked at with each connection, whatever it was when it was added', async () => {
    await add();
    await query(
      `UPDATE "_duet_webhooks" SET "private" = 0, "url" = '${hook.url.replace('127.0.0.1', 'localhost')}' RETURNING 1`,
    );
    await create('x');
    await until('the note', async () => (await only()).deliveries.length === 1);
    const [delivery] = (await only()).deliveries;
    expect(delivery?.error).toMatch(
      /^localhost leads to no public address, and the webhook is not for a receiver inside/,
    );
    expect(await testWebhook(journal, added.id, 300)).toEqual({ status: null, error: delivery?.error ?? '' });
    expect(hook.told).toEqual([]);
  });

  test('while a secret is replaced both sign, for a day; the tested event is signed too; no secret is told again', async () => {
    await add();
    const { secret } = await rotateWebhook(journal, added.id);
    expect(await testWebhook(journal, added.id, 300)).toEqual({ status: 204, error: null });
    const verifies = (given: string) => {
      const { text, headers } = hook.told.at(-1) as Told;
      try {
        return new Webhook(given).verify(text, headers) !== undefined;
      } catch {
        return false;
      }
    };
    expect(hook.told[0]?.event).toMatchObject({ type: 'duet.test', data: null });
    expect([secret === added.secret, verifies(secret), verifies(added.secret)]).toEqual([false, true, true]);
    const entry = await only();
    expect(entry.rotatesUntil).not.toBeNull();
    await query(`UPDATE "_duet_webhooks" SET "oldUntil" = '2020-01-01T00:00:00.000Z' RETURNING 1`);
    hook.answer = () => new Response(null, { status: 503 });
    expect(await testWebhook(journal, added.id, 300)).toEqual({
      status: 503,
      error: 'the receiver answered 503',
    });
    expect([verifies(secret), verifies(added.secret), (await only()).rotatesUntil]).toEqual([
      true,
      false,
      null,
    ]);
    await create('x');
    await until('the note', async () => (await only()).deliveries.length === 1);
    const told = JSON.stringify([
      await listWebhooks(journal),
      app.observations.map(({ cause }: any) => `${cause} ${cause?.cause}`),
    ]);
    expect(told).not.toMatch(/whsec|127\.0\.0\.1.*whsec/);
    for (const each of [secret, added.secret]) expect(told).not.toContain(each.slice(6));
  });

  test('what only a newer schema knows is left to nodes that serve it, while that is rolled out', async () => {
    await add('*');
    await create('first');
    await waited(1);
    await query(
      `INSERT INTO "_duet_changes" ("at", "kind", "table", "key", "version", "transaction", "after")
       VALUES ('${new Date().toISOString()}', 'CREATED', 'Tape', '1', 1, 't', '{}') RETURNING 1`,
    );
    const { position } = await only();
    await create('x');
    await Bun.sleep(1_500);
    expect([hook.told.length, (await only()).position]).toEqual([1, position]);
    await query(
      `UPDATE "_duet_changes" SET "at" = '2020-01-01T00:00:00.000Z' WHERE "table" = 'Tape' RETURNING 1`,
    );
    await waited(2);
    expect(hook.told[1]?.event.data.after.title).toBe('x');
  });

  test('one that is behind is told of all that comes before that, and of nothing behind it', async () => {
    await add('*');
    const { position } = await only();
    // More than is looked at at once.
    const records = Array.from({ length: 120 }, (_, n) => ({ title: `${n}` }));
    await app.graphql('mutation ($records: [BookInput!]!) { createBooks(records: $records) { id } }', {
      records,
    });
    await waited(120);
    await query(
      `INSERT INTO "_duet_changes" ("at", "kind", "table", "key", "version", "transaction", "after")
       VALUES ('${new Date().toISOString()}', 'CREATED', 'Tape', '2', 1, 't', '{}') RETURNING 1`,
    );
    await create('last');
    const ids = () => hook.told.map(({ event }) => event.id).sort();
    const before = ids();
    hook.told.length = 0;
    await replayWebhook(journal, model, added.id, position);
    await waited(120);
    await Bun.sleep(1_500);
    expect([ids(), (await only()).position]).toEqual([before, before.at(-1)]);
    await query(
      `UPDATE "_duet_changes" SET "at" = '2020-01-01T00:00:00.000Z' WHERE "table" = 'Tape' RETURNING 1`,
    );
    await waited(121);
    expect(hook.told[120]?.event.data.after.title).toBe('last');
  });

  test('what a record was can be taken out of what is still to be told', async () => {
    await add();
    hook.answer = () => (hook.told.length === 1 ? new Response(null, { status: 500 }) : undefined);
    const id = await create('secret');
    await until('the note', async () => (await only()).deliveries.length === 1);
    for (const title of ['hidden', 'gone']) await app.rest('PUT', `/books/${id}`, { title });
    await until('its deliveries', async () => (await only()).waiting === 3);
    // What was stored is read one by one: all of it may be much.
    let most = 0;
    const asked = seen(journal.storage, (_, rows) => {
      most = Math.max(most, ...rows.map((each) => each.filter((row) => 'given' in row).length));
    });
    await eraseDeliveries({ asked } as never, model.byType.get('Book') as never, String(id));
    expect(most).toBe(1);
    await hurry();
    await waited(4);
    expect(
      hook.told.map(({ event }) => [event.data.key, event.data.before?.title, event.data.after?.title]),
    ).toEqual([
      [id, undefined, 'secret'],
      [id, undefined, undefined],
      [id, undefined, undefined],
      [id, undefined, undefined],
    ]);
  });

  test.each([
    ['http://example.com/', ['Book.*'], 'must be https'],
    ['ftp://example.com/', ['Book.*'], 'must be https'],
    ['https://a:b@example.com/', ['Book.*'], 'no user and password'],
    ['https://1.1.1.1/a\r\nX: 1', ['Book.*'], 'control characters'],
    ['https://1.1.1.1/\t', ['Book.*'], 'control characters'],
    ['https://10.1.2.3/', ['Book.*'], '10.1.2.3 is no public address'],
    ['https://[::1]:9/', ['Book.*'], '::1 is no public address'],
    ['https://0x7f000001/', ['Book.*'], '127.0.0.1 is no public address'],
    ['https://localhost/', ['Book.*'], 'no public address'],
    ['https://1.1.1.1/', [], 'say what to tell of'],
    ['https://1.1.1.1/', ['Book'], '"Book" is no event'],
    ['https://1.1.1.1/', ['Book.sold'], 'nothing is "sold"'],
    ['https://1.1.1.1/', ['Bok.created'], 'the schema has no type "Bok". Did you mean "Book"?'],
    ['https://1.1.1.1/', ['Plain.*'], 'Add @journal'],
  ])('%s on %p is refused', async (url, on, why) => {
    await expect(addWebhook(journal, model, { url, on, allowsPrivate: false })).rejects.toThrow(why);
  });

  test.each([
    [2000, 'no public address'],
    [2001, '2000 characters at the most: let a short path'],
  ])('a URL of %d characters', async (length, why) => {
    const url = 'https://10.1.2.3/'.padEnd(length, 'x');
    const added = addWebhook(journal, model, { url, on: ['Book.*'], allowsPrivate: false });
    await expect(added).rejects.toThrow(why);
  });
});

test('which addresses are public', () => {
  const shown = (list: string) => list.split(' ').filter(isPublic);
  expect(shown('1.1.1.1 9.255.255.255 11.0.0.0 172.15.0.1 172.32.0.1 2606:4700::1111')).toHaveLength(6);
  expect(
    shown(
      '0.0.0.0 10.0.0.1 100.64.0.1 127.9.9.9 169.254.169.254 172.16.0.1 172.31.255.255 192.168.1.1 198.19.0.1 224.0.0.1 255.255.255.255 :: ::1 ::ffff:10.0.0.1 ::ffff:1.1.1.1 fe80::1 fc00::1 fd00:ec2::254 ff02::1 64:ff9b::a00:1 2002:a00:1:: 2001:db8::1',
    ),
  ).toEqual([]);
});

test('the pauses of the contract, a little longer now and then', () => {
  const hours = [5 / 3600, 5 / 60, 0.5, 2, 5, 10, 14, 20, 24];
  const pauses = hours.map((_, at) => pauseAfter(at + 1, undefined) ?? 0);
  for (const [at, wanted] of hours.entries()) {
    const times = (pauses[at] ?? 0) / 3_600_000 / wanted;
    expect([at, times >= 1 && times <= 1.2]).toEqual([at, true]);
  }
  expect(pauseAfter(10, undefined)).toBeUndefined();
});
