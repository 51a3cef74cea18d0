/** Jobs and schedules of real processes: killed while they run, several at a time, and what the operator does about them. */

import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { NEVER } from '../../src/engine/jobs/queue.ts';
import { type DatabaseKind, databases, JSON_HEADERS, sharedPostgres } from '../app.ts';
import { command, Folder, Server } from '../process.ts';

/** More, to look for what happens seldom. */
const KILLS = Number(process.env['DUET_TEST_KILLS'] ?? 10);
const NODES = 3;

const schema = 'type Item @resource { id: ID!  n: Int! }';

/** Every start and end of a job is a line of its own in a file: nothing of that is lost by a kill. */
const LOGIC = `
import { appendFileSync } from 'node:fs';
const tell = (line: string) => appendFileSync('effects', line + '\\n');
// The clocks of nodes may differ by minutes.
const skew = Number(process.env['SKEW'] ?? 0);
const real = Date.now;
Date.now = () => real() + skew;
const told = async ({ record, id, signal }: any) => {
  const line = record.id + ' ' + record._version + ' ' + id + ' ' + process.pid;
  tell('start ' + line);
  await Bun.sleep(20 + 40 * Math.random());
  if (!signal.aborted) tell('end ' + line);
};
export default {
  Item: {
    afterCreate: told,
    afterUpdate: told,
    async afterDelete({ record }: any) {
      if (record.n === 0) throw new Error('not this one,\\n never');
    },
  },
  schedule: { often: { cron: '0 0 1 1 *', async run({ slot }: any) { tell('slot ' + slot); } } },
};
`;

async function place(database: DatabaseKind) {
  const folder = new Folder({ 'schema.graphql': schema, 'data.json': '{}', 'logic.ts': LOGIC });
  const url =
    database === 'sqlite' ? `sqlite:${folder.file('duet.db')}` : await (await sharedPostgres()).database();
  const sql = database === 'postgres' ? new Bun.SQL(url, { max: 1 }) : undefined;
  const query = async (text: string): Promise<any[]> => {
    if (sql) return [...(await sql.unsafe(text))];
    using file = new Database(folder.file('duet.db'));
    file.run('PRAGMA busy_timeout = 5000');
    return file.query(text).all();
  };
  const effects = () =>
    existsSync(folder.file('effects'))
      ? readFileSync(folder.file('effects'), 'utf8').trimEnd().split('\n').filter(Boolean)
      : [];
  const env = { DATABASE_URL: url, LOG_LEVEL: 'info' };
  return {
    folder,
    query,
    effects,
    env,
    async [Symbol.asyncDispose]() {
      await sql?.close();
      folder[Symbol.dispose]();
    },
  };
}

async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 900; tries++) {
    if (await holds()) return;
    await Bun.sleep(50);
  }
  throw new Error(`${what} did not happen`);
}

async function send(url: string, method: string, path: string, body?: unknown): Promise<any> {
  const init = { method, ...(body !== undefined && { headers: JSON_HEADERS, body: JSON.stringify(body) }) };
  const answer = await fetch(`${url}${path}`, init);
  if (!answer.ok) throw new Error(await answer.text());
  return answer.status === 204 ? undefined : answer.json();
}

describe.each([...databases])('on %s', (database) => {
  test(`${KILLS} kills while jobs run`, async () => {
    await using deployment = await place(database);
    const { folder, query, effects, env } = deployment;
    const skews = ['0', '600000', '-600000'];
    const start = (index: number) => Server.start(folder, { ...env, SKEW: skews[index % 3] ?? '0' });
    const nodes: Awaited<ReturnType<typeof start>>[] = [];
    for (let index = 0; index < NODES; index++) nodes.push(await start(index));
    const killed: number[] = [];
    const written: string[] = [];
    try {
      for (let kill = 0; kill < KILLS; kill++) {
        const url = nodes[kill % NODES]?.url ?? '';
        for (let count = 0; count < 3; count++) {
          const { id } = await send(url, 'POST', '/items', { n: 1 });
          await send(url, 'PUT', `/items/${id}`, { n: 2 });
          await send(url, 'PUT', `/items/${id}`, { n: 3 });
          written.push(...[1, 2, 3].map((version) => `${id} ${version}`));
        }
        const node = nodes[kill % NODES];
        if (!node) break;
        node.signal('SIGKILL');
        killed.push(node.pid);
        await node.exited();
        nodes[kill % NODES] = await start(kill);
      }
      await until(
        'the end of all jobs',
        async () => (await query('SELECT 1 FROM "_duet_jobs"')).length === 0,
      );
    } finally {
      for (const node of nodes) await node[Symbol.asyncDispose]();
    }
    const lines = effects().filter((line) => !line.startsWith('slot'));
    const ends = lines
      .filter((line) => line.startsWith('end'))
      .map((line) => line.split(' ').slice(1, 3).join(' '));
    expect([...new Set(ends)].sort()).toEqual(written.toSorted());
    // Of what one process has started, nobody starts it beside that unless the process was killed.
    const under = new Map<string, string>();
    for (const line of lines) {
      const [what, item, version, , pid = ''] = line.split(' ');
      const lane = `${item} ${version === '1' ? 'create' : 'update'}`;
      const other = under.get(lane);
      if (what === 'end') under.delete(lane);
      else {
        if (other !== undefined) expect(killed).toContain(Number(other));
        under.set(lane, pid);
      }
    }
    // In order for one record and hook.
    for (const item of new Set(written.map((each) => each.split(' ')[0]))) {
      const updates = lines.filter(
        (line) => line.startsWith(`end ${item} `) && !line.startsWith(`end ${item} 1 `),
      );
      const versions = updates.map((line) => Number(line.split(' ')[2]));
      expect(versions).toEqual(versions.toSorted());
    }
  }, 240_000);

  test('a schedule runs once for each slot, with three nodes, and once for those that were missed', async () => {
    await using deployment = await place(database);
    const { folder, query, effects, env } = deployment;
    const slots = () => effects().filter((line) => line.startsWith('slot'));
    const known = async () => (await query('SELECT "next" FROM "_duet_schedules"'))[0]?.next;
    const bring = (moment: number) => query(`UPDATE "_duet_schedules" SET "next" = ${moment} RETURNING 1`);
    const expected: string[] = [];
    const come = async (moment: number) => {
      await bring(moment);
      expected.push(`slot ${new Date(moment).toISOString()}`);
      await until('the slot', () => slots().length >= expected.length);
      // What is killed before it has told that it is done is run again.
      await until('its end', async () => (await query('SELECT 1 FROM "_duet_jobs"')).length === 0);
    };
    const nodes = await Promise.all(Array.from({ length: NODES }, () => Server.start(folder, env)));
    try {
      await until('its first slot is known', async () => (await known()) !== undefined);
      expect(new Date(Number(await known())).toISOString()).toMatch(/^\d{4}-01-01T00:00:00.000Z$/);
      for (let slot = 0; slot < 4; slot++) await come(1_700_000_000_000 + slot * 60_000);
    } finally {
      await Promise.all(nodes.map((node) => node[Symbol.asyncDispose]()));
    }
    await bring(1_700_000_900_000);
    expected.push('slot 2023-11-14T22:28:20.000Z');
    {
      await using _ = await Server.start(folder, env);
      await until('the missed slot', () => slots().length >= expected.length);
      await Bun.sleep(1_500);
    }
    expect(slots()).toEqual(expected);
    expect(Number(await known())).toBeGreaterThan(Date.now());
  }, 120_000);

  test('duet jobs lists, retries and drops', async () => {
    await using deployment = await place(database);
    const { folder, query, env } = deployment;
    const jobs = (...args: string[]) => command(folder, ['jobs', ...args], env);
    expect(await jobs()).toEqual({ stdout: '', stderr: '', exit: 0 });
    {
      await using server = await Server.start(folder, env);
      for (const n of [0, 0]) await send(server.url, 'POST', '/items', { n });
      for (const id of [1, 2]) await send(server.url, 'DELETE', `/items/${id}`);
      await until(
        'the first attempts',
        async () => (await query('SELECT 1 FROM "_duet_jobs" WHERE "error" IS NOT NULL')).length === 2,
      );
      await query('UPDATE "_duet_jobs" SET "attempt" = 24, "due" = 0 RETURNING 1');
      await until(
        'the last ones',
        async () =>
          (await query('SELECT 1 FROM "_duet_jobs" WHERE "attempt" = 25 AND "holder" IS NULL')).length === 2,
      );
    }
    const { stdout } = await jobs('--failed');
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split('\t'));
    const told = (id: number) => [
      expect.stringMatching(/^[\w-]{36}$/),
      `Item.afterDelete ${id}`,
      'failed',
      'attempt 25',
      expect.stringMatching(/^since 20/),
      'not this one, never',
    ];
    expect(lines).toEqual([told(1), told(2)]);
    const [[first = ''] = [], [second = ''] = []] = lines;
    // One that waits for another says for which.
    const put = (due: number, lane: number) =>
      query(
        `UPDATE "_duet_jobs" SET "due" = ${due}, "lane" = 'Item.afterDelete ${lane}' WHERE "id" = '${second}' RETURNING 1`,
      );
    await query('UPDATE "_duet_jobs" SET "due" = 0 RETURNING 1');
    await put(0, 1);
    const when = (await jobs()).stdout.split('\n').map((line) => line.split('\t')[4]);
    expect(when.slice(0, 2)).toEqual([expect.stringMatching(/^since 20/), `behind ${first}`]);
    await put(NEVER, 2);
    expect(await jobs('drop', first)).toMatchObject({ stderr: 'Dropped 1 job.\n', exit: 0 });
    expect(await jobs('retry', second)).toMatchObject({
      stderr: '1 job to be tried again at once.\n',
      exit: 0,
    });
    expect((await jobs()).stdout.split('\t').slice(1, 4)).toEqual([
      'Item.afterDelete 2',
      'waiting',
      'attempt 0',
    ]);
    expect((await jobs('--failed')).stdout).toBe('');
    const gone = 'duet: 0 of 1 are there. `duet jobs` lists them\n';
    expect(await jobs('drop', first)).toEqual({ stdout: '', stderr: gone, exit: 2 });
    const usage = 'duet: use `jobs [--failed]`, `jobs retry ID …|--failed` or `jobs drop ID …|--failed`\n';
    for (const args of [['retry'], ['mend', 'x'], ['list', 'x'], ['drop', 'x', '--failed']])
      expect(await jobs(...args)).toEqual({ stdout: '', stderr: usage, exit: 2 });
    {
      await using _ = await Server.start(folder, env);
      await until(
        'the retry',
        async () =>
          (await query('SELECT 1 FROM "_duet_jobs" WHERE "attempt" = 1 AND "error" IS NOT NULL')).length ===
          1,
      );
    }
    expect(await jobs('drop', '--failed')).toMatchObject({ stderr: 'Dropped 0 jobs.\n', exit: 0 });
  }, 120_000);
});
