/** Runs around all test files: what they share is ended when the last of them is done. */

import { afterAll } from 'bun:test';
import { endAllPoolers } from './pgbouncer.ts';
import { endAll } from './postgres.ts';

afterAll(async () => {
  await endAllPoolers();
  await endAll();
});
