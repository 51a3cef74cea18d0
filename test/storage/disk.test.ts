/** What the disk is asked for and what becomes of writes when it fails, seen through the system calls of a real server. */

import { Database } from 'bun:sqlite';
import { afterAll, describe, expect, test } from 'bun:test';
import { Folder, Server } from '../process.ts';
import { attach, traceable } from '../trace.ts';

const JSON_HEADERS = { 'Content-Type': 'application/json' };

describe.skipIf(!traceable)('on a real disk', async () => {
  const folder = new Folder({ 'data.json': '{}' });
  afterAll(() => folder[Symbol.dispose]());
  const trace = folder.file('trace');
  const add = (url: string, title: string) =>
    fetch(`${url}/tasks`, { method: 'POST', headers: JSON_HEADERS, body: JSON.stringify({ title }) });
  const addByGraphql = (url: string, title: string) => {
    const query = 'mutation($title: String!) { createTask(title: $title) { id } }';
    return fetch(`${url}/graphql`, {
      method: 'POST',
      headers: JSON_HEADERS,
      body: JSON.stringify({ query, variables: { title } }),
    });
  };
  const titles = async (url: string) =>
    ((await (await fetch(`${url}/tasks`)).json()) as any[]).map(({ title }) => title);

  test('every acknowledgement follows its fsync', async () => {
    await using server = await Server.start(folder);
    const { pid } = await server.logged('started');
    const tracing = await attach(pid, trace, '-e', 'trace=fsync,fdatasync,sendto,sendmsg,write,writev');
    for (let round = 0; round < 10; round++) {
      expect((await add(server.url, `rest ${round}`)).status).toBe(201);
      expect(
        ((await (await addByGraphql(server.url, `graphql ${round}`)).json()) as any).errors,
      ).toBeUndefined();
    }
    await tracing.release();
    let synced = false;
    let acknowledged = 0;
    for (const line of (await Bun.file(trace).text()).split('\n')) {
      if (/\bf(data)?sync(\(| resumed).*= 0/.test(line)) synced = true;
      if (!/(sendto|sendmsg|write|writev)\(.*HTTP\/1\.1 20[01]/.test(line)) continue;
      expect(synced, line).toBe(true);
      synced = false;
      acknowledged++;
    }
    expect(acknowledged).toBe(20);
  });

  test('reads go on while a commit waits for a slow disk', async () => {
    await using server = await Server.start(folder);
    const { pid } = await server.logged('started');
    expect((await add(server.url, 'before the slow one')).status).toBe(201);
    const slow = ['-e', 'trace=fsync,fdatasync', '-e', 'inject=fsync,fdatasync:delay_enter=500000'];
    const tracing = await attach(pid, trace, ...slow);
    let reads = 0;
    // That the disk is slow is noticed by the first write, and what the next ones wait in takes a moment to start.
    for (let writes = 0; writes < 5 && reads <= 5; writes++) {
      let waiting = true;
      const written = add(server.url, 'a slow one').then((response) => {
        waiting = false;
        return response.status;
      });
      for (reads = 0; waiting && reads < 1000; reads++)
        expect((await fetch(`${server.url}/tasks/1`)).status).toBe(200);
      expect(await written).toBe(201);
    }
    // As many as fit in half a second; were they to wait for the disk, it would be one or two.
    expect(reads).toBeGreaterThan(5);
    await tracing.release();
    // And when it is quick again, writes and reads go on as before.
    for (let writes = 0; writes < 250; writes++) expect((await add(server.url, 'quick')).status).toBe(201);
    expect((await titles(server.url)).filter((title) => title === 'quick').length).toBe(250);
  });

  test.each([
    [
      'an fsync that fails',
      ['-e', 'trace=fsync,fdatasync', '-e', 'inject=fsync,fdatasync:error=EIO'],
      'OUTCOME_UNKNOWN',
    ],
    ['a full disk', ['-e', 'trace=pwrite64', '-e', 'inject=pwrite64:error=ENOSPC'], 'UNAVAILABLE'],
  ])(
    'after %s nothing is acknowledged, reads go on, and writes resume by themselves',
    async (name, options, code) => {
      await using server = await Server.start(folder);
      const { pid } = await server.logged('started');
      const before = await titles(server.url);
      const failing = await attach(pid, trace, ...options);
      for (let tries = 0; tries < 3; tries++) {
        const response = await add(server.url, `lost by ${name}`);
        expect([response.status, ((await response.json()) as any).code]).toEqual([503, code]);
        const graphql = (await (await addByGraphql(server.url, `lost by ${name}`)).json()) as any;
        expect(graphql.errors[0].extensions.code).toBe(code);
        expect(await titles(server.url)).toEqual(before);
      }
      await failing.release();
      expect((await add(server.url, `after ${name}`)).status).toBe(201);
      expect(await titles(server.url)).toEqual([...before, `after ${name}`]);
      // The operator is told the cause.
      expect((await server.logged('failure')).cause).toContain('SQLiteError');
      // Of a disk that is full once, however many requests have found it so.
      await Bun.sleep(200);
      if (name === 'a full disk')
        expect(server.log.filter(({ event }) => event === 'failure').length).toBe(1);
      server.signal('SIGKILL');
      await server.exited();
      const db = new Database(folder.file('duet.db'));
      expect(db.query('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
      db.close();
    },
  );
});
