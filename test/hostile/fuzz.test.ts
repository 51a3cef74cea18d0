/** Random requests through both doors: not one fails, tells of the inside, or is answered other than the descriptions say. */

import { describe, expect, test } from 'bun:test';
import { databases, openEmptied } from '../app.ts';
import { headersOf, SECRET } from '../conformance/access-matrix.ts';
import { callers, sdl as guardedSdl, newWorld } from '../conformance/access-world.ts';
import { rich } from '../rest/rich.ts';
import { Campaign } from './fuzz/campaign.ts';

/** In all; `FUZZ=100000 npm test test/hostile/fuzz` is the long run. */
const REQUESTS = Number(process.env['FUZZ'] ?? 5000);
/** The same seed makes the same requests, but for the keys and times that the server chooses. */
const SEED = Number(process.env['FUZZ_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const LONGEST_MS = 60_000 + REQUESTS * 100;

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

const open = { sdl: rich.sdl + stored, data: rich.data, env: {} };
const guarded = { sdl: guardedSdl, data: newWorld(), env: { AUTH_SECRET: SECRET } };
/** Small enough to be met; what a busy machine would refuse is not what is tested. */
const limits = { LIMIT_BODY: '20000', LIMIT_URL: '2000', LIMIT_LAG: '60000', LIMIT_DEADLINE: '60000' };

for (const [name, deployment] of Object.entries({ open, guarded }))
  describe.each([...databases])(`${name}, on %s`, (database) => {
    test(
      'whatever is asked, the answer is one that is described, and the data stays sound',
      async () => {
        const env = { ...deployment.env, ...limits };
        await using fresh = await openEmptied(database, { ...deployment, env });
        const app = await fresh.next();
        const known = name === 'open' ? [{}] : await Promise.all(callers.map(headersOf));
        const campaign = await Campaign.of(app, deployment.sdl, known);
        await campaign.run(SEED, Math.floor(REQUESTS / 4));
        expect((await app.rest('GET', '/readyz')).status).toBe(200);
        expect(await campaign.audit()).toBeGreaterThan(0);
        // Noise that is refused at the door would find nothing.
        const seen = [...campaign.outcomes.keys()].join();
        for (const outcome of ['data', 'VALIDATION_FAILED', ' 201', ' 400', ' 404'])
          expect([outcome, seen.includes(outcome)]).toEqual([outcome, true]);
      },
      LONGEST_MS,
    );
  });
