/** Runs around all test files: what they share is ended when the last of them is done. */

import { afterAll } from 'bun:test';
import { endShared } from './ending.ts';
import { endAllPoolers } from './pgbouncer.ts';
import { endAll } from './postgres.ts';

afterAll(async () => {
  await endShared();
  await endAllPoolers();
  await endAll();
});
