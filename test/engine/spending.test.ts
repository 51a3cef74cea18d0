/** What an answer would hold is measured until it is too much, and not beyond. */

import { expect, test } from 'bun:test';
import { Budget } from '../../src/engine/budget.ts';
import type { Branch } from '../../src/engine/read/branches.ts';
import { spend, spendOften } from '../../src/engine/read/spending.ts';
import { storedColumns } from '../../src/schema/values.ts';
import { modelOf } from '../storage/deployment.ts';

const MANY = 10_000;
const { resources } = modelOf(`
  type Club @resource { id: ID!  text: String!  notes: [Note!]! }
  type Note @resource { id: ID!  club: Club! }`);
const [club, note] = resources;

/** A club with a long text, and how often that was looked at. */
function counted() {
  const seen = { times: 0 };
  const row = {
    id: 1,
    get text() {
      seen.times++;
      return 'x'.repeat(1000);
    },
  };
  return { row, seen };
}

test.each(['spend', 'spendOften'])('%s', (how) => {
  if (!club || !note) throw new Error('the types are there');
  const selection = { columns: storedColumns(club), relations: [] };
  const { row, seen } = counted();
  const budget = new Budget({ objects: 2 * MANY, bytes: 20_000 });
  const measure = () => {
    if (how === 'spendOften') {
      // Each is a record of its own, with the same text.
      const times = new Map(Array.from({ length: MANY }, () => [Object.create(row), 1] as const));
      return spendOften(selection, times, budget);
    }
    const parents = Array.from({ length: MANY }, () => ({ club: row }));
    const relation = { field: note.references[0], selection, as: 'club' };
    spend(
      { relation, property: 'club', parents, found: [row], times: undefined } as unknown as Branch,
      budget,
    );
  };
  expect(measure).toThrow('LIMIT_BYTES');
  expect(seen.times).toBeLessThan(100);
});
