/** From one schema to the next: what is done, what is refused and in which words, and what becomes of the rows. */

import { describe, expect, test } from 'bun:test';
import { databases } from '../app.ts';
import { applied } from './applied.ts';
import { Deployment } from './deployment.ts';
import { refused } from './refused.ts';

describe.each([...databases])('on %s', (kind) => {
  test.each(Object.entries(applied))('applied: %s', async (_, change) => {
    await using deployment = await Deployment.create(kind);
    await deployment.evolve(change.from, change.data);
    const before = await deployment.records(change.from);
    const evolution = await deployment.evolve(change.to);
    expect(evolution.applied).toEqual(change.applied);
    expect(evolution.surplus).toEqual(change.surplus ?? []);
    expect(await deployment.records(change.to)).toEqual(change.after ?? (before as any));
    const history = await deployment.history();
    expect(await deployment.evolve(change.to)).toEqual({ ...evolution, applied: [] });
    expect(await deployment.history()).toEqual(history);
    expect(await deployment.records(change.from)).toEqual(change.back ?? (before as any));
  });

  test.each(Object.entries(refused))('refused: %s', async (_, change) => {
    await using deployment = await Deployment.create(kind);
    await deployment.evolve(change.from, change.data);
    const before = await deployment.records(change.from);
    const history = await deployment.history();
    expect(await deployment.refusals(change.to)).toEqual(change.refused as string[]);
    expect(await deployment.evolve(change.from)).toMatchObject({ applied: [], surplus: [] });
    expect(await deployment.records(change.from)).toEqual(before);
    expect(await deployment.history()).toEqual(history);
  });
});
