/** Where writes happen: here while commits are quick, elsewhere while they are slow, and here again afterwards. */

import { expect, test } from 'bun:test';
import { anonymous } from '../../src/engine/caller.ts';
import { PacedWriter } from '../../src/engine/paced-writer.ts';
import { Policy } from '../../src/engine/policy/policy.ts';
import { StorageWriter } from '../../src/engine/writer.ts';
import type { Model } from '../../src/schema/model.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { openApp } from '../app.ts';

const sdl = 'type Note @resource { id: ID! text: String! }';

/** A database of its own, so that a record tells where it was written. */
async function opened() {
  let found: { storage: Storage; model: Model } | undefined;
  const app = await openApp('sqlite', {
    sdl,
    data: {},
    around: (storage, model) => {
      found = { storage, model };
      return storage;
    },
  });
  if (!found) throw new Error('there is no storage');
  const { storage, model } = found;
  const writer = new StorageWriter(storage, new Policy(model, false), 100);
  return { app, model, writer, count: async () => (await app.rest('GET', '/notes')).body.length };
}

async function paced() {
  const [here, there] = [await opened(), await opened()];
  let tell = (_ms: number) => {};
  const writer = new PacedWriter(here.writer, (committed) => {
    tell = committed;
    return there.writer;
  });
  const [resource] = here.model.resources;
  if (!resource) throw new Error('there is no resource');
  const selection = { columns: resource.columns, relations: [] };
  return {
    writer,
    tell: (ms: number) => tell(ms),
    where: async () => {
      const before = await here.count();
      const input = { text: 'x' };
      await writer.write(
        anonymous,
        { do: 'create', resource, input, selection, through: 'rest' },
        undefined,
        performance.now() + 10_000,
      );
      return (await here.count()) > before ? 'here' : 'there';
    },
    async close() {
      await here.app.close();
      await there.app.close();
    },
  };
}

test('three slow commits in a row move writes, and two hundred quick ones move them back', async () => {
  const { writer, tell, where, close } = await paced();
  for (const ms of [1, 2, 2, 0.1, 0.1, 0.1, 0.1, 5, 5]) writer.committed(ms);
  expect(await where()).toBe('here');
  writer.committed(5);
  expect(await where()).toBe('there');
  for (let quick = 0; quick < 199; quick++) tell(0.1);
  expect(await where()).toBe('there');
  tell(0.1);
  expect(await where()).toBe('here');
  // What was slow once is not held against it.
  writer.committed(5);
  expect(await where()).toBe('here');
  await close();
});

test('one that takes very long is enough', async () => {
  const { writer, tell, where, close } = await paced();
  writer.committed(50);
  expect(await where()).toBe('there');
  for (let quick = 0; quick < 198; quick++) tell(0.1);
  tell(3);
  tell(0.1);
  expect(await where()).toBe('there');
  await close();
});
