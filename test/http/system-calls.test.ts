/** What a request costs in system calls: the same number on every machine, unlike times, and most of a small request. */

import { afterAll, describe, expect, test } from 'bun:test';
import { Folder, Server } from '../process.ts';
import { attach, traceable } from '../trace.ts';

const REQUESTS = 100;
/** What a timer does now and then. */
const BESIDES = 15;
/** Waiting, memory, other threads and the log: how often hangs on the time that all of it takes. */
const others =
  /^(epoll\w+|futex|madvise|munmap|mmap|mprotect|sched_yield|membarrier|rt_sigreturn|restart_syscall)\(|^sendto\((?!\d+, "HTTP)|^write\(/;

type Calls = Readonly<Record<string, number>>;

/** The database is locked for reading once, and let go: no statement begins a transaction or looks into the file. */
const read: Calls = { recvfrom: 1, fcntl: 2, sendto: 1 };
/** Two pages, each behind a header, one wait for the disk; where that is a slow one, three answers of the process that waits. */
const write: Calls = { recvfrom: 1, fcntl: 6, pwrite64: 4, fsync: 1, sendto: 1, recvmsg: 3 };
const graphql = (query: string) => ({ query, variables: { id: '1' } });

const asks: [string, path: string, body: unknown, calls: Calls][] = [
  ['a record by key', '/books/1', undefined, read],
  ['a list', '/books?limit=2', undefined, read],
  ['a tree', '/users?include=posts.comments', undefined, read],
  ['a record by GraphQL', '/graphql', graphql('query($id: ID!) { book(id: $id) { title } }'), read],
  ['a tree by GraphQL', '/graphql', graphql('{ users { posts { comments { body } } } }'), read],
  ['a create', '/notes', { title: 'x' }, write],
];

describe.skipIf(!traceable)('system calls', async () => {
  const folder = new Folder();
  const server = await Server.start(folder);
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  test.each(asks)('%s', async (_, path, body, expected) => {
    const ask = async () => {
      const init = {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      };
      const answer = await fetch(server.url + path, body === undefined ? {} : init);
      expect(answer.ok).toBe(true);
      await answer.arrayBuffer();
    };
    for (let n = 0; n < REQUESTS; n++) await ask();
    const trace = folder.file('trace');
    const tracing = await attach(server.pid, trace);
    for (let n = 0; n < REQUESTS; n++) await ask();
    await tracing.release();

    const counted: Record<string, number> = {};
    for (const [, pid, line = '', call = ''] of (await Bun.file(trace).text()).matchAll(
      /^(\d+) +((\w+)\(.*)$/gm,
    ))
      if (Number(pid) === server.pid && !others.test(line)) counted[call] = (counted[call] ?? 0) + 1;
    // Otherwise nothing was seen.
    expect(counted['recvfrom']).toBeGreaterThanOrEqual(REQUESTS);
    const isTooMany = ([call, count]: [string, number]) => count > (expected[call] ?? 0) * REQUESTS + BESIDES;
    expect(Object.entries(counted).filter(isTooMany)).toEqual([]);
  });
});
