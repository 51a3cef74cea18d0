/** `duet client`: the client of the schema file, or of a server that runs. */

import { expect, test } from 'bun:test';
import { StartFault } from '../../src/app/deployment.ts';
import { client } from '../../src/cli/commands/client.ts';
import { clientText } from '../../src/client/client.ts';
import { readConfig } from '../../src/config/config.ts';
import { readSchema } from '../../src/schema/read.ts';
import { openApp, shipped } from '../app.ts';
import { command, Folder, Server } from '../process.ts';

const { model } = readSchema(shipped.sdl);
const expected = model && `${clientText(model)}\n`;

test('it prints the client of the schema file, and with --from that of a server, which are the same', async () => {
  using folder = new Folder();
  const printed = await command(folder, ['client']);
  expect(printed).toEqual({ stdout: expected ?? '', stderr: '', exit: 0 });
  await using server = await Server.start(folder);
  using elsewhere = Folder.empty();
  expect(await command(elsewhere, ['client', '--from', `${server.url}/`])).toEqual(printed);
  const file = elsewhere.file('duet.ts');
  await Bun.write(file, printed.stdout);
  const { duet } = await import(file);
  expect(await duet(server.url).books.get(1, { select: { title: true } })).toEqual({
    title: shipped.data.books[0].title,
  });
});

/** The plural is a name that the client has for its own. */
const clash = 'type Payment @resource(plural: "transaction", path: "payments") { id: ID! }';

test('what it cannot print it says, and how to mend it', async () => {
  using folder = new Folder({ 'schema.graphql': clash, 'data.json': '{}' });
  const { config } = readConfig([], { DUET_SCHEMA: folder.file('schema.graphql') });
  if (!config) throw new Error('the settings of the test are wrong');
  using silent = Bun.serve({ port: 0, fetch: () => new Response('none', { status: 404 }) });
  const wrong: [string[], RegExp][] = [
    [[], /^the client has transaction of its own, .*@resource\(plural: "…"\)$/],
    [['localhost'], /^--from must be the address of a server, such as http:/],
    [['http://127.0.0.1:1'], /^cannot reach http:\/\/127.0.0.1:1\/client.ts \(.*Is it the address/],
    [[silent.url.origin], /client.ts answered 404: it tells no client. INTROSPECTION must be on there/],
    [['http://a', 'http://b'], /^--from takes one address$/],
  ];
  for (const [from, message] of wrong) {
    const error: unknown = await client(config, from, () => {}).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(StartFault);
    expect((error as Error).message).toMatch(message);
  }
});

test('a server tells its client unless it tells nothing of itself', async () => {
  const clashing = await openApp('sqlite', { sdl: clash });
  const answer = await clashing.rest('GET', '/client.ts');
  expect([answer.status, answer.body.detail]).toEqual([404, expect.stringContaining('@resource(plural:')]);
  await clashing.close();
  const silent = await openApp('sqlite', { env: { INTROSPECTION: 'off' } });
  expect((await silent.rest('GET', '/client.ts')).status).toBe(404);
  await silent.close();
});
