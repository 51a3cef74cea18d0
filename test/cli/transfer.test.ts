/** What an export keeps of records that were deleted: after an import no id and no version is given again. */

import { describe, expect, test } from 'bun:test';
import { databases, sharedPostgres } from '../app.ts';
import { command, ended, Folder, inShell, Server } from '../process.ts';

const JSON_HEADERS = { 'Content-Type': 'application/json' };
const sdl = `
  type Post @resource @table(name: "it's \\"so\\"") { id: ID!  title: String! }
  type Tag @resource { name: ID! @key  text: String }
  type Log @resource { id: UUID!  text: String }`;

async function newDatabase(kind: (typeof databases)[number], name: string): Promise<string> {
  return kind === 'sqlite' ? `sqlite:${name}.db` : (await sharedPostgres()).database('en-US');
}

/** What comes before it tells how far slow work is. */
function lastLine(text: string): string | undefined {
  return text.trimEnd().split('\n').at(-1);
}

/** Starts the server for a few requests, and answers with their bodies. */
async function ask(folder: Folder, url: string, requests: readonly string[]): Promise<any[]> {
  await using server = await Server.start(folder, { DATABASE_URL: url });
  const bodies: any[] = [];
  for (const request of requests) {
    const [method = '', path = '', body] = request.split(' ');
    const init = body ? { method, headers: JSON_HEADERS, body } : { method };
    const response = await fetch(server.url + path, init);
    expect(response.status).toBeLessThan(300);
    const text = await response.text();
    const tag = response.headers.get('ETag')?.match(/\d+/)?.[0];
    bodies.push({ ...(text === '' ? {} : JSON.parse(text)), version: Number(tag) });
  }
  return bodies;
}

describe.each([...databases])('from %s', (kind) => {
  test('ids and versions of deleted records are kept, on any database', async () => {
    using folder = new Folder({ 'schema.graphql': sdl, 'data.json': '{}' });
    const from = await newDatabase(kind, 'from');
    const post = 'POST /posts {"title":"t"}';
    await ask(folder, from, [
      ...[post, post, post, 'DELETE /posts/3'],
      ...['x', 'é', 'Z', 'a', 'live', 'again'].map((name) => `POST /tags {"name":"${name}"}`),
      ...['PUT /tags/x {"text":"1"}', 'PUT /tags/x {"text":"2"}', 'DELETE /tags/x'],
      ...['DELETE /tags/%C3%A9', 'DELETE /tags/Z', 'DELETE /tags/a'],
      ...['DELETE /tags/again', 'POST /tags {"name":"again"}'],
    ]);
    const exported = await command(folder, ['export'], { DATABASE_URL: from });
    expect(exported).toEqual({
      exit: 0,
      stderr: 'exported 4 records\n',
      stdout: [
        '{"resource":"posts","version":1,"record":{"id":1,"title":"t"}}',
        '{"resource":"posts","version":1,"record":{"id":2,"title":"t"}}',
        '{"resource":"posts","lastId":3}',
        '{"resource":"tags","version":2,"record":{"name":"again","text":null}}',
        '{"resource":"tags","version":1,"record":{"name":"live","text":null}}',
        '{"resource":"tags","buried":{"key":"Z","version":1}}',
        '{"resource":"tags","buried":{"key":"a","version":1}}',
        '{"resource":"tags","buried":{"key":"x","version":3}}',
        '{"resource":"tags","buried":{"key":"é","version":1}}',
        '',
      ].join('\n'),
    });
    await Bun.write(folder.file('all.ndjson'), exported.stdout);
    for (const target of databases) {
      const to = await newDatabase(target, `to-${target}`);
      const imported = await command(folder, ['import', 'all.ndjson'], { DATABASE_URL: to });
      expect(imported).toMatchObject({ exit: 0, stderr: 'imported 4 records\n' });
      expect((await command(folder, ['export'], { DATABASE_URL: to })).stdout).toBe(exported.stdout);
      const tag = 'POST /tags {"name":"x"}';
      expect(await ask(folder, to, [post, tag, 'DELETE /tags/x', tag])).toMatchObject([
        { id: 4 },
        { name: 'x', version: 4 },
        {},
        { name: 'x', version: 5 },
      ]);
    }
  }, 30_000);

  test('exact numbers keep every digit, on any database', async () => {
    using folder = new Folder({
      'schema.graphql': 'type Item @resource { id: ID!  price: Decimal! @decimal(scale: 2)  units: BigInt }',
      'data.json':
        '{"items":[{"price":"-92233720368547758.07","units":"9223372036854775807"},{"price":"0.5"}]}',
    });
    const from = await newDatabase(kind, 'from');
    await command(folder, ['migrate'], { DATABASE_URL: from });
    const exported = await command(folder, ['export'], { DATABASE_URL: from });
    expect(exported.stdout.split('\n').slice(0, 2)).toEqual([
      '{"resource":"items","version":1,"record":{"id":1,"price":"-92233720368547758.07","units":"9223372036854775807"}}',
      '{"resource":"items","version":1,"record":{"id":2,"price":"0.50","units":null}}',
    ]);
    await Bun.write(folder.file('all.ndjson'), exported.stdout);
    for (const target of databases) {
      const to = await newDatabase(target, `to-${target}`);
      await command(folder, ['import', 'all.ndjson'], { DATABASE_URL: to });
      expect((await command(folder, ['export'], { DATABASE_URL: to })).stdout).toBe(exported.stdout);
    }
    const wrong = exported.stdout.replace('"0.50"', '0.5');
    await Bun.write(folder.file('wrong.ndjson'), wrong);
    const refused = await command(folder, ['import', 'wrong.ndjson'], {
      DATABASE_URL: await newDatabase(kind, 'other'),
    });
    expect([refused.exit === 0, refused.stderr]).toEqual([
      false,
      expect.stringContaining('price must be a string'),
    ]);
  }, 30_000);

  test('text without letter case goes as it was written, and is found and refused as ever', async () => {
    using folder = new Folder({
      'schema.graphql': 'type Item @resource { id: ID!  name: String! @unique @caseless }',
      'data.json': '{"items":[{"name":"Straße"},{"name":"ΣΑΣ"}]}',
    });
    const from = await newDatabase(kind, 'from');
    await command(folder, ['migrate'], { DATABASE_URL: from });
    const exported = await command(folder, ['export'], { DATABASE_URL: from });
    expect(exported.stdout.split('\n').slice(0, 2)).toEqual([
      '{"resource":"items","version":1,"record":{"id":1,"name":"Straße"}}',
      '{"resource":"items","version":1,"record":{"id":2,"name":"ΣΑΣ"}}',
    ]);
    await Bun.write(folder.file('all.ndjson'), exported.stdout);
    await Bun.write(folder.file('twin.ndjson'), exported.stdout.replace('"ΣΑΣ"', '"STRASSE"'));
    for (const target of databases) {
      const to = await newDatabase(target, `to-${target}`);
      await command(folder, ['import', 'all.ndjson'], { DATABASE_URL: to });
      const found = await ask(folder, to, ['GET /items?name=STRASSE', 'GET /items?name=%CF%83%CE%B1%CF%82']);
      expect(found).toMatchObject([{ 0: { id: 1 } }, { 0: { id: 2 } }]);
      const other = await newDatabase(target, `twin-${target}`);
      const refused = await command(folder, ['import', 'twin.ndjson'], { DATABASE_URL: other });
      expect([refused.exit === 0, refused.stderr]).toEqual([false, expect.stringContaining('name')]);
    }
  }, 60_000);

  test('an import lowers neither, whether or not its file speaks of them', async () => {
    using folder = new Folder({ 'schema.graphql': sdl, 'data.json': '{}' });
    const url = await newDatabase(kind, 'own');
    const post = 'POST /posts {"title":"t"}';
    const posts = Array.from({ length: 5 }, () => post);
    const deletes = [1, 2, 3, 4, 5].map((id) => `DELETE /posts/${id}`);
    const tag = 'POST /tags {"name":"x"}';
    await ask(folder, url, [...posts, ...deletes, tag, 'PUT /tags/x {"text":"1"}', 'DELETE /tags/x']);
    const files = [
      '{"resource":"posts","record":{"id":2,"title":"loaded"}}',
      '{"resource":"posts","lastId":3}\n{"resource":"tags","buried":{"key":"x","version":1}}',
      '',
    ];
    for (const text of files) {
      await Bun.write(folder.file('less.ndjson'), text);
      expect(await command(folder, ['import', 'less.ndjson'], { DATABASE_URL: url })).toMatchObject({
        exit: 0,
      });
    }
    expect(await ask(folder, url, [post, tag])).toMatchObject([{ id: 6 }, { name: 'x', version: 3 }]);
    // The key lives here and was buried elsewhere, with a higher version.
    await Bun.write(folder.file('more.ndjson'), '{"resource":"tags","buried":{"key":"x","version":9}}');
    await command(folder, ['import', 'more.ndjson'], { DATABASE_URL: url });
    expect(await ask(folder, url, ['DELETE /tags/x', tag])).toMatchObject([{}, { version: 10 }]);
  }, 30_000);

  test('more buried keys than fit into one page', async () => {
    using folder = new Folder({ 'schema.graphql': sdl, 'data.json': '{}' });
    const url = { DATABASE_URL: await newDatabase(kind, 'many') };
    const lines = Array.from({ length: 2500 }, (_, n) => `k${String(n).padStart(4, '0')}`).map((key) =>
      JSON.stringify({ resource: 'tags', buried: { key, version: 2 } }),
    );
    await Bun.write(folder.file('many.ndjson'), `${lines.join('\n')}\n`);
    await command(folder, ['import', 'many.ndjson'], url);
    expect((await command(folder, ['export'], url)).stdout).toBe(`${lines.join('\n')}\n`);
  }, 30_000);

  test('API keys travel as hashes, work there, and take the place of none that is in use', async () => {
    using folder = new Folder({ 'schema.graphql': sdl, 'data.json': '{}' });
    const from = { DATABASE_URL: await newDatabase(kind, 'keys') };
    const create = async (name: string, env: Record<string, string>) =>
      (await command(folder, ['key', 'create', '--name', name, '--role', 'editor'], env)).stdout.trim();
    const [used, revoked] = [await create('used', from), await create('old', from)];
    await command(folder, ['key', 'revoke', 'old'], from);
    const { stdout } = await command(folder, ['export'], from);
    expect(stdout).not.toContain(used);
    await Bun.write(folder.file('keys.ndjson'), stdout);
    for (const target of databases) {
      const to = { DATABASE_URL: await newDatabase(target, `keys-${target}`), AUTH_KEYS: 'on' };
      // Whoever imports twice has what there was.
      for (let times = 0; times < 2; times++)
        expect((await command(folder, ['import', 'keys.ndjson'], to)).exit).toBe(0);
      expect((await command(folder, ['export'], to)).stdout).toBe(stdout);
      {
        await using server = await Server.start(folder, to);
        const status = async (key: string) =>
          (await fetch(`${server.url}/access.json`, { headers: { Authorization: `Bearer ${key}` } })).status;
        expect([await status(used), await status(revoked)]).toEqual([200, 401]);
      }
      // One that was revoked here stays so; another of the same name is not replaced.
      await command(folder, ['key', 'revoke', 'used'], to);
      await command(folder, ['import', 'keys.ndjson'], to);
      const listed = (await command(folder, ['key', 'list'], to)).stdout;
      expect(listed.match(/revoked \d/g)?.length).toBe(2);
      const own = await create('used', to);
      const { exit, stderr } = await command(folder, ['import', 'keys.ndjson'], to);
      expect([exit, stderr]).toEqual([
        2,
        'duet: keys.ndjson: there is another API key "used" in use: `duet key revoke used` makes way for it\n',
      ]);
      expect(own).toStartWith('duet_');
    }
  }, 60_000);

  test('lines come in any order, packed or piped, and the one that is refused is named', async () => {
    const tree = `
      type Leaf @resource(plural: "leaves") { name: ID! @key  branch: Branch! }
      type Branch @resource(plural: "branches") { id: UUID!  tree: Tree!  over: Branch  best: Leaf }
      type Tree @resource { id: ID!  text: String! @unique }`;
    using folder = new Folder({ 'schema.graphql': tree, 'data.json': '{}' });
    const uuid = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
    const count = 1200;
    const lines = Array.from({ length: count }, (_, n) => [
      { resource: 'leaves', version: 3, record: { name: `leaf ${n}`, branchId: uuid(count - n) } },
      // Each hangs on the one that comes next, and the last on the first.
      {
        resource: 'branches',
        version: 2,
        record: { id: uuid(n + 1), treeId: n + 1, overId: uuid(((n + 1) % count) + 1), bestId: `leaf ${n}` },
      },
      { record: { id: n + 1, text: `tree ${n}` }, resource: 'trees' },
    ]).flat();
    const text = `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`;
    await Bun.write(folder.file('any.ndjson'), text);
    await Bun.write(folder.file('any.ndjson.gz'), Bun.gzipSync(text));
    const exports = new Set<string>();
    for (const line of [
      '"$@" import any.ndjson',
      '"$@" import any.ndjson.gz',
      'cat any.ndjson | "$@" import -',
    ]) {
      const url = await newDatabase(kind, `any-${exports.size}-${crypto.randomUUID()}`);
      const child = inShell(folder, `export DATABASE_URL=${url}; ${line}`, []);
      const { exit, stderr } = await ended(child);
      expect([exit, lastLine(stderr)]).toEqual([0, `imported ${3 * count} records`]);
      exports.add((await command(folder, ['export'], { DATABASE_URL: url })).stdout);
    }
    expect(exports.size).toBe(1);
    const [exported = ''] = exports;
    expect(
      exported
        .split('\n')
        .toSorted()
        .filter((line) => line.includes('"over')),
    ).toEqual(
      lines
        .filter(({ resource }) => resource === 'branches')
        .map((line) => JSON.stringify(line))
        .toSorted(),
    );
    const refused: [number, object, string][] = [
      [2000, { resource: 'trees', record: { text: 'tree 7' } }, 'text is taken by another record'],
      [
        3000,
        { resource: 'leaves', record: { name: 'x', branchId: uuid(0) } },
        'it refers to a record that does not exist',
      ],
      [
        17,
        { resource: 'branches', record: { treeId: 1, overId: uuid(0) } },
        'it refers to a record that does not exist',
      ],
    ];
    for (const [at, record, why] of refused) {
      const bad = lines.map((line) => JSON.stringify(line)).toSpliced(at - 1, 0, JSON.stringify(record));
      await Bun.write(folder.file('bad.ndjson'), bad.join('\n'));
      const env = { DATABASE_URL: await newDatabase(kind, `bad-${at}`) };
      const { exit, stderr } = await command(folder, ['import', 'bad.ndjson'], env);
      expect([exit, lastLine(stderr)]).toEqual([2, `duet: bad.ndjson: line ${at}: ${why}`]);
      expect((await command(folder, ['export'], env)).stdout).toBe('');
    }
    // Written by another program: its letters must not be stored as U+FFFD.
    const latin = JSON.stringify({ resource: 'trees', record: { text: 'Z\xfcrich' } });
    await Bun.write(folder.file('latin.ndjson'), Buffer.from(latin, 'latin1'));
    const env = { DATABASE_URL: await newDatabase(kind, 'latin') };
    const { exit, stderr } = await command(folder, ['import', 'latin.ndjson'], env);
    expect([exit, lastLine(stderr)]).toEqual([
      2,
      'duet: latin.ndjson: line 1 is not UTF-8; save the file as UTF-8',
    ]);
    expect((await command(folder, ['export'], env)).stdout).toBe('');
  }, 60_000);
});
