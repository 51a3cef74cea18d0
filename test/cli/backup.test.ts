/** A backup is made while the service writes, has one moment of it, and takes the place of what there is when told to. */

import { describe, expect, test } from 'bun:test';
import { mkdirSync, readdirSync, readFileSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { databases, JSON_HEADERS, sharedPostgres } from '../app.ts';
import { alive, childrenOf, command, Folder, Server } from '../process.ts';
import { S3 } from '../s3/server.ts';

const sdl = `
  type Post @resource { id: ID!  title: String!  twin: Post }
  type Tag @resource { name: ID! @key }`;

async function newDatabase(kind: (typeof databases)[number]): Promise<string> {
  return kind === 'sqlite' ? 'sqlite:duet.db' : (await sharedPostgres()).database();
}

const posting = (titles: readonly string[]) => ({
  method: 'POST',
  headers: JSON_HEADERS,
  body: JSON.stringify({
    operations: titles.map((title) => ({ method: 'POST', path: '/posts', body: { title } })),
  }),
});

describe.each([...databases])('on %s', (kind) => {
  const open = async () => {
    const folder = new Folder({ 'schema.graphql': sdl, 'data.json': '{}' });
    const env = { DATABASE_URL: await newDatabase(kind) };
    const duet = (...args: string[]) => command(folder, args, env);
    const exported = async () => (await duet('export')).stdout;
    return Object.assign(folder, { env, duet, exported });
  };

  test('it has one moment of a service that writes, and restores it', async () => {
    using folder = await open();
    const { duet, exported, env } = folder;
    await duet('key', 'create', '--name', 'ci');
    {
      await using server = await Server.start(folder, env);
      let isWriting = true;
      const writing = (async () => {
        for (let n = 0; isWriting; n++) {
          const { status } = await fetch(`${server.url}/transaction`, posting([`a${n}`, `b${n}`]));
          expect(status).toBe(200);
        }
      })();
      await Bun.sleep(100);
      expect(await duet('backup', 'one')).toMatchObject({ exit: 0, stdout: 'one\n' });
      isWriting = false;
      await writing;
      const again = await duet('backup', 'one');
      expect([again.exit, again.stderr]).toEqual([
        2,
        'duet: one is there already. Name another file, or a folder\n',
      ]);
      if (kind === 'sqlite') {
        const running = await duet('restore', 'one', '--yes');
        expect([running.exit, running.stderr]).toEqual([
          2,
          'duet: duet.db is in use. Stop the service first\n',
        ]);
      }
    }
    const now = await exported();
    const refused = await duet('restore', 'one');
    expect([refused.exit, refused.stderr]).toEqual([
      2,
      expect.stringContaining('has records already. With --yes the backup takes their place'),
    ]);
    expect(await exported()).toBe(now);

    expect((await duet('restore', 'one', '--yes')).exit).toBe(0);
    const restored = await exported();
    const titles = [...restored.matchAll(/"title":"(\w)(\d+)"/g)];
    const halves = ['a', 'b'].map((half) => titles.flatMap(([, which, n]) => (which === half ? [n] : [])));
    expect(halves[0]).toEqual(halves[1]);
    expect(titles.length).toBeGreaterThan(0);
    expect(now.length).toBeGreaterThan(restored.length);
    expect(restored).toContain('"apiKey":{"name":"ci"');
    expect(readdirSync(folder.path).filter((name) => /restoring|\.duet-/.test(name))).toEqual([]);
  }, 60_000);

  test('a folder keeps the newest, and nothing else of it is touched', async () => {
    using folder = await open();
    const { duet, exported, env } = folder;
    {
      await using server = await Server.start(folder, env);
      for (let n = 0; n < 3; n++) {
        await fetch(`${server.url}/transaction`, posting([`t${n}`]));
        expect((await duet('backup', 'kept/', '--keep', '2')).exit).toBe(0);
        if (n > 0) continue;
        writeFileSync(folder.file('kept/duet-notes.txt'), 'mine');
        // One was killed long ago, and one is at work.
        for (const name of ['kept/.duet-backup-long-ago', 'kept/.duet-backup-now'])
          mkdirSync(folder.file(name));
        utimesSync(folder.file('kept/.duet-backup-long-ago'), 0, 0);
      }
      await fetch(`${server.url}/transaction`, posting(['lost']));
    }
    const kept = readdirSync(folder.file('kept')).sort();
    const name =
      kind === 'sqlite' ? /^duet-\d{8}T\d{6}\.\d{3}Z\.db$/ : /^duet-\d{8}T\d{6}\.\d{3}Z\.ndjson\.gz$/;
    expect(kept.map((each) => (name.test(each) ? 'backup' : each))).toEqual([
      '.duet-backup-now',
      'backup',
      'backup',
      'duet-notes.txt',
    ]);
    expect((await duet('restore', 'kept', '--yes')).exit).toBe(0);
    expect([...(await exported()).matchAll(/"title":"(\w+)"/g)].map(([, title]) => title)).toEqual([
      't0',
      't1',
      't2',
    ]);
    for (const words of [
      ['backup', 'file', '--keep', '2'],
      ['backup', 'kept', '--every', 'often'],
      ['backup', 'kept', '--keep', '0'],
      ['restore', 'nothing'],
    ])
      expect((await duet(...words)).exit).toBe(2);
  }, 60_000);

  test('a damaged backup is refused, and what is there stays', async () => {
    using folder = await open();
    const { duet, exported, env } = folder;
    {
      await using server = await Server.start(folder, env);
      const titles = Array.from({ length: 500 }, (_, n) => `title ${n} ${crypto.randomUUID()}`);
      await fetch(`${server.url}/transaction`, posting(titles));
    }
    await duet('backup', 'whole');
    const before = await exported();
    const bytes = readFileSync(folder.file('whole'));
    const damages: [string, () => void][] = [
      ['shorter', () => truncateSync(folder.file('bad'), Math.floor(bytes.length / 2))],
      [
        'zeroes',
        () => writeFileSync(folder.file('bad'), Buffer.from(bytes).fill(0, Math.floor(bytes.length / 2))),
      ],
    ];
    for (const [, damage] of damages) {
      writeFileSync(folder.file('bad'), bytes);
      damage();
      const { exit, stderr } = await duet('restore', 'bad', '--yes');
      expect([exit, stderr]).toEqual([2, expect.stringContaining('is damaged')]);
      expect(await exported()).toBe(before);
    }
  }, 60_000);

  test('the server has them made, as many as are kept, by a process that ends with it', async () => {
    using folder = await open();
    const { env } = folder;
    await using server = await Server.start(folder, {
      ...env,
      BACKUP_TO: 'often/',
      BACKUP_EVERY: '1s',
      BACKUP_KEEP: '2',
    });
    for (let tries = 0; tries < 1500; tries++) {
      if (server.log.filter(({ event }) => event === 'backup').length >= 4) break;
      await Bun.sleep(10);
    }
    const made = server.log.filter(({ event }) => event === 'backup').map(({ to }) => to);
    expect(made.length).toBeGreaterThanOrEqual(4);
    expect(readdirSync(folder.file('often')).filter((name) => name.startsWith('duet-')).length).toBeLessThan(
      4,
    );
    const [child = 0] = childrenOf(server.pid, 'backup');
    expect(alive(child)).toBe(true);
    server.signal('SIGKILL');
    for (let tries = 0; tries < 1000 && alive(child); tries++) await Bun.sleep(10);
    expect(alive(child)).toBe(false);
  }, 60_000);

  test('a bucket is a folder too', async () => {
    await using s3 = await S3.start('backups');
    using folder = await open();
    const env = { ...folder.env, ...s3.env };
    const duet = (...args: string[]) => command(folder, args, env);
    {
      await using server = await Server.start(folder, env);
      for (let n = 0; n < 3; n++) {
        await fetch(`${server.url}/transaction`, posting([`t${n}`]));
        const { exit, stdout } = await duet('backup', 's3://backups/daily/', '--keep', '2');
        expect([exit, stdout]).toEqual([0, expect.stringMatching(/^s3:\/\/backups\/daily\/duet-\d{8}T/)]);
      }
    }
    const client = new Bun.S3Client({
      bucket: 'backups',
      endpoint: s3.env['S3_ENDPOINT'] ?? '',
      accessKeyId: 'S3RVER',
      secretAccessKey: 'S3RVER',
    });
    expect((await client.list({ prefix: 'daily/' })).contents?.length).toBe(2);
    expect((await duet('backup', 's3://backups/one')).exit).toBe(0);
    expect((await duet('backup', 's3://backups/one')).stderr).toContain('is there already');
    const before = await folder.exported();
    const other = kind === 'sqlite' ? 'sqlite:other.db' : await (await sharedPostgres()).database();
    for (const from of ['s3://backups/daily/', 's3://backups/one']) {
      const target = { ...env, DATABASE_URL: other };
      expect((await command(folder, ['restore', from, '--yes'], target)).exit).toBe(0);
      expect((await command(folder, ['export'], target)).stdout).toBe(before);
    }
    const stranger = { ...env, S3_ACCESS_KEY_ID: 'somebody' };
    const { exit, stderr } = await command(folder, ['backup', 's3://backups/'], stranger);
    expect([exit, stderr]).toEqual([2, expect.stringContaining('S3_ACCESS_KEY_ID')]);
  }, 120_000);
});

test('a backup of PostgreSQL restores into SQLite; the other way is refused with what to do', async () => {
  using folder = new Folder({ 'schema.graphql': sdl, 'data.json': '{"posts":[{"title":"moved"}]}' });
  const [sqlite, postgres] = [
    { DATABASE_URL: 'sqlite:duet.db' },
    { DATABASE_URL: await newDatabase('postgres') },
  ];
  for (const env of [sqlite, postgres]) {
    await command(folder, ['migrate'], env);
    await command(folder, ['backup', `${env === sqlite ? 'file' : 'server'}`], env);
  }
  const moved = await command(folder, ['restore', 'server', '--yes'], sqlite);
  expect(moved.exit).toBe(0);
  expect((await command(folder, ['export'], sqlite)).stdout).toContain('"title":"moved"');
  const refused = await command(folder, ['restore', 'file', '--yes'], postgres);
  expect([refused.exit, refused.stderr]).toEqual([2, expect.stringContaining('duet import all.ndjson')]);
}, 60_000);
