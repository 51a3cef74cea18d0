/** A new `@check`, `@caseless` and `@search` on a million records, while clients of the node before go on reading and writing. */

import { Database } from 'bun:sqlite';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { duet } from './duet.ts';
import { type Ask, get, post, put, send } from './load.ts';
import type { Databases } from './postgres.ts';
import { type Command, Process } from './process.ts';

const CHECK =
  '@check(where: { joined: { gte: { field: "born" } } }, message: "Nobody joins before being born")';
const SEARCH = '@search(fields: ["name", "text"])';

/** One after the other, each beside those before. */
const steps = [
  { what: '`@check`', schema: person(CHECK, '') },
  { what: '`@caseless`', schema: person(CHECK, '@caseless') },
  { what: '`@search`', schema: person(`${CHECK} ${SEARCH}`, '@caseless') },
];

function person(of: string, email: string): string {
  return `type Person @resource(plural: "people") ${of} {
    id: ID!  email: String! ${email}  name: String!  text: String!  born: Date!  joined: Date!
  }`;
}

/** What each record has, whatever its number `i` is; SQL that both databases take. */
const NAME = "'Person ' || i";
const TEXT = "'everybody has some words of text, and w' || (i % 1000) || 'x beside them'";
const MAIL = "'Person' || i || '@Example.com'";

const sample = {
  email: 'New@Example.com',
  name: 'Somebody new',
  text: 'everybody',
  born: '1990-01-01',
  joined: '2020-01-01',
};

/** Milliseconds, but for the counts. */
export interface Evolved {
  readonly database: string;
  readonly what: string;
  readonly records: number;
  /** From the start of the new node until it serves. */
  readonly taken: number;
  readonly longestRead: number;
  /** Of those that were answered by the node that was asked. */
  readonly longestWrite: number;
  /** For how long writers were told to go to the new node, which did not serve yet. */
  readonly turnedAway: number;
  readonly requests: number;
  /** Those that failed in any other way. */
  readonly refused: readonly string[];
  /** Records that do not have what the new node keeps of them. */
  readonly leftBehind: number;
}

export async function evolution(quick: boolean, folder: string, databases: Databases): Promise<Evolved[]> {
  const records = quick ? 20_000 : Number(process.env['BENCH_RECORDS'] ?? 1_000_000);
  const found: Evolved[] = [];
  const sqlite = duet({ folder, schema: person('', ''), ready: get('/healthz') });
  await (await Process.start(sqlite, databases)).stop();
  fillSqlite(join(sqlite.cwd, 'duet.db'), records);
  for await (const step of evolved('SQLite', sqlite, records, databases)) found.push(step);
  const url = await databases.make();
  const postgres = duet({ folder, schema: person('', ''), url, ready: get('/healthz') });
  await (await Process.start(postgres, databases)).stop();
  await fillPostgres(url, records);
  for await (const step of evolved('PostgreSQL', postgres, records, databases)) found.push(step);
  return found;
}

async function* evolved(database: string, command: Command, records: number, databases: Databases) {
  let old = await Process.start(command, databases);
  let created = 0;
  for (const { what, schema } of steps) {
    console.error(`bench: ${database}: a new ${what} on ${records} records`);
    writeFileSync(join(command.cwd, 'schema.graphql'), schema);
    const clients = new Clients(old, records);
    const running = clients.run();
    const begun = performance.now();
    const next = await Process.start(command, databases, 3_600_000);
    const taken = performance.now() - begun;
    clients.go(next);
    await Bun.sleep(500);
    clients.stop();
    await running;
    await old.stop();
    created += clients.created;
    old = next;
    const kept = what.includes('check') ? records + created : await keptOf(next, what);
    const { longestRead, longestWrite, turnedAway, requests, refused } = clients;
    const step: Evolved = {
      database,
      what,
      records,
      taken,
      longestRead,
      longestWrite,
      turnedAway,
      requests,
      refused,
      leftBehind: records + created - kept,
    };
    console.error(`bench: ${JSON.stringify(step)}`);
    yield step;
  }
  await old.stop();
}

/** How many records are found by what is kept beside them. */
async function keptOf(node: Process, what: string): Promise<number> {
  const by = what.includes('search')
    ? 'search: "everybody"'
    : 'where: { email: { endsWith: "@EXAMPLE.COM" } }';
  const answer = await send(node.url, post('/graphql', { query: `{ peopleAggregate(${by}) { count } }` }));
  const body = (await answer.json()) as { data?: { peopleAggregate: { count: number }[] } };
  const [all] = body.data?.peopleAggregate ?? [];
  if (!all) throw new Error(JSON.stringify(body));
  return all.count;
}

/** One that reads and one that writes, who ask the new node where the old one sends them there. */
class Clients {
  longestRead = 0;
  longestWrite = 0;
  turnedAway = 0;
  requests = 0;
  created = 0;
  readonly refused: string[] = [];
  readonly #old: Process;
  readonly #records: number;
  #next: Process | undefined;
  #isOver = false;

  constructor(old: Process, records: number) {
    this.#old = old;
    this.#records = records;
  }

  go(next: Process): void {
    this.#next = next;
  }

  stop(): void {
    this.#isOver = true;
  }

  async run(): Promise<void> {
    await Promise.all([this.#reads(), this.#writes()]);
  }

  async #reads(): Promise<void> {
    while (!this.#isOver) {
      const ms = await this.#asked(get('/people/{id}'));
      this.longestRead = Math.max(this.longestRead, ms ?? 0);
      await Bun.sleep(2);
    }
  }

  async #writes(): Promise<void> {
    let since: number | undefined;
    for (let round = 0; !this.#isOver; ) {
      const ask =
        round % 2 === 0 ? post('/people', sample) : put('/people/{id}', { name: `Changed ${round}` });
      const ms = await this.#asked(ask);
      if (ms === undefined) since ??= performance.now();
      else {
        if (round % 2 === 0) this.created++;
        round++;
        this.longestWrite = Math.max(this.longestWrite, ms);
        if (since !== undefined) this.turnedAway = Math.max(this.turnedAway, performance.now() - since);
        since = undefined;
      }
      await Bun.sleep(2);
    }
  }

  /** How long it took; undefined where it is to be asked again. */
  async #asked(ask: Ask): Promise<number | undefined> {
    const begun = performance.now();
    const id = 1 + Math.floor(Math.random() * this.#records);
    const answer = await send((this.#next ?? this.#old).url, ask, id);
    const text = await answer.text();
    if (text.includes('SCHEMA_OUTDATED')) return undefined;
    this.requests++;
    if (!answer.ok) this.refused.push(`${ask.method} ${answer.status} ${text.slice(0, 200)}`);
    return answer.ok ? performance.now() - begun : undefined;
  }
}

function fillSqlite(path: string, records: number): void {
  const db = new Database(path);
  const numbers = `(WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < ${records}) SELECT i FROM s)`;
  db.run(
    `INSERT INTO "Person" ("id", "email", "name", "text", "born", "joined", "_version") SELECT i, ${MAIL}, ${NAME}, ${TEXT}, '1990-01-01', '2020-01-01', 1 FROM ${numbers}`,
  );
  db.close();
}

async function fillPostgres(url: string, records: number): Promise<void> {
  const sql = new Bun.SQL(url, { max: 1 });
  await sql.unsafe(
    `INSERT INTO "Person" ("email", "name", "text", "born", "joined", "_version") SELECT ${MAIL}, ${NAME}, ${TEXT}, '1990-01-01'::date, '2020-01-01'::date, 1 FROM generate_series(1, ${records}) AS i`,
  );
  await sql.unsafe('VACUUM ANALYZE');
  await sql.close();
}
