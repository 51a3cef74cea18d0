/** Which keys share the mark of a version is chance: whoever could choose them could hide a record from those who look again. */

import { expect, spyOn, test } from 'bun:test';
import { readSchema } from '../../src/schema/read.ts';
import type { Versions } from '../../src/storage/evolve/versions.ts';

test('each process hashes natural keys by seeds of its own', async () => {
  using hash = spyOn(Bun.hash, 'xxHash32');
  const { model } = readSchema('type Word @resource { lang: ID! @key }');
  const word = model?.resources[0];
  if (!word) throw new Error('the schema has a type');
  const row = { [word.key.name]: 'en', [word.version.name]: 1 };
  // As another process would load it.
  for (const process of ['one', 'other']) {
    const loaded = await import(`../../src/storage/evolve/versions.ts?${process}`);
    const versions: Versions = new loaded.Versions();
    versions.add(word, [row]);
    expect(versions.has(word, row)).toBe(true);
    expect(versions.has(word, { ...row, [word.version.name]: 2 })).toBe(false);
  }
  const seeds = hash.mock.calls.map(([, seed]) => seed);
  expect([seeds.length, new Set(seeds).size]).toEqual([12, 4]);
});
