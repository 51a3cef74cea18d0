/** Random requests through both doors: not one fails, tells of the inside, or is answered other than the descriptions say. */

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { type DatabaseKind, type Deployment, databases, openEmptied } from '../app.ts';
import { headersOf, SECRET } from '../conformance/access-matrix.ts';
import { callers, sdl as guardedSdl, newWorld } from '../conformance/access-world.ts';
import { worldChoices, worldOf } from '../conformance/reading-schemas.ts';
import { rich } from '../rest/rich.ts';
import { Campaign } from './fuzz/campaign.ts';

/** In all; `FUZZ=100000 npm test test/hostile/fuzz` is the long run. */
const REQUESTS = Number(process.env['FUZZ'] ?? 5000);
/** The same seed makes the same requests, but for the keys and times that the server chooses. */
const SEED = Number(process.env['FUZZ_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const LONGEST_MS = 60_000 + REQUESTS * 100;
/** For each of the tests below, on each database. */
const SHARE = Math.ceil(REQUESTS / 6);
/** Requests for each schema that is made up. */
const FEW = 280;

/** Stored under names that no answer may have. */
const stored = `
  type Crate @resource @table(name: "hidden_table") @unique(fields: ["row", "shelf"]) {
    id: ID!
    row: Int @column(name: "hidden_column") @unique @constraint(min: 0, max: 99)
    shelf: String!
    weight: Float! @default(value: 1.5)
    inside: Crate @onDelete(do: CASCADE)
    near: Crate @onDelete(do: SET_NULL)
    contents: [Crate!]! @inverse(of: "inside")
  }`;

/** Small enough to be met; what a busy machine would refuse is not what is tested. */
const limits = { LIMIT_BODY: '20000', LIMIT_URL: '2000', LIMIT_LAG: '60000', LIMIT_DEADLINE: '60000' };

/** How often each outcome was met. */
async function fuzzed(
  database: DatabaseKind,
  { env, ...deployment }: Deployment & { readonly sdl: string },
  requests: number,
  known: readonly Record<string, string>[] = [{}],
): Promise<ReadonlyMap<string, number>> {
  await using fresh = await openEmptied(database, { ...deployment, env: { ...env, ...limits } });
  const app = await fresh.next();
  const campaign = await Campaign.of(app, deployment.sdl, known);
  await campaign.run(SEED, requests);
  expect((await app.rest('GET', '/readyz')).status).toBe(200);
  return campaign.outcomes;
}

/** Noise that is refused at the door would find nothing. */
function expectDepth(outcomes: ReadonlyMap<string, number>): void {
  const seen = [...outcomes.keys()].join();
  for (const outcome of ['data', 'VALIDATION_FAILED', ' 201', ' 400', ' 404'])
    expect([outcome, seen.includes(outcome)]).toEqual([outcome, true]);
}

describe.each([...databases])('every answer is described, and the data stays sound, on %s', (database) => {
  test(
    'with everything that a schema can say',
    async () => {
      expectDepth(await fuzzed(database, { sdl: rich.sdl + stored, data: rich.data }, SHARE));
    },
    LONGEST_MS,
  );

  test(
    'with callers and rules',
    async () => {
      const known = await Promise.all(callers.map(headersOf));
      const deployment = { sdl: guardedSdl, data: newWorld(), env: { AUTH_SECRET: SECRET } };
      expectDepth(await fuzzed(database, deployment, SHARE, known));
    },
    LONGEST_MS,
  );

  test(
    'with schemas that are made up',
    async () => {
      const numRuns = Math.ceil(SHARE / FEW);
      for (const choices of fc.sample(worldChoices, { numRuns, seed: SEED })) {
        const { sdl, data, logic } = worldOf(choices);
        await fuzzed(database, { sdl, data, logic }, FEW).catch((error) => {
          throw new Error(`${error.message}\n${sdl}`);
        });
      }
    },
    LONGEST_MS,
  );
});
