/** `duet dev` serves, and serves anew when the schema file changes; a fault is told, and mended by the next change. */

import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { Folder } from '../process.ts';

async function until(what: string, check: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    if (await check().catch(() => false)) return;
    await Bun.sleep(50);
  }
  throw new Error(`${what} did not happen`);
}

test('a change of the schema is served', async () => {
  const book = 'type Book @resource { id: ID!  title: String! }';
  using folder = new Folder({ 'schema.graphql': book, 'data.json': '{}' });
  const probe = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } });
  const { port } = probe;
  probe.stop();
  const child = Bun.spawn(
    [process.execPath, '--no-env-file', join(import.meta.dir, '../../src/cli/cli.ts'), 'dev'],
    {
      cwd: folder.path,
      env: { PORT: String(port) },
      stdout: 'ignore',
      stderr: 'pipe',
    },
  );
  let told = '';
  const reading = (async () => {
    for await (const chunk of child.stderr.pipeThrough(new TextDecoderStream())) told += chunk;
  })();
  try {
    const status = async (path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).status;
    await until('the first start', async () => (await status('/books')) === 200);
    await Bun.write(folder.file('schema.graphql'), `${book} type Note @resoruce { id: ID! }`);
    await until('the fault', async () => told.includes('Unknown directive "@resoruce"'));
    await Bun.write(folder.file('schema.graphql'), `${book} type Note @resource { id: ID! }`);
    await until('the second start', async () => (await status('/notes')) === 200);
  } finally {
    child.kill('SIGTERM');
    await child.exited;
  }
  await reading;
  expect(told).toStartWith('duet: schema.graphql:1:');
}, 60_000);
