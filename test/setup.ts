/** Runs around all test files: what they share is ended when the last of them is done. */

import { afterAll } from 'bun:test';
import { endAll } from './postgres.ts';

afterAll(endAll);
