/** What carrying out a GraphQL operation needs to know of its request. */

import type { Caller } from '../engine/caller.ts';
import type { Engine } from '../engine/engine.ts';
import type { Gone } from '../engine/gone.ts';
import type { Watched } from '../engine/journal/view.ts';
import type { Keyed } from '../engine/write/idempotency.ts';
import type { Door } from './schema.ts';

export interface Context {
  readonly engine: Engine;
  readonly caller: Caller;
  /** All fields of a mutation share it. */
  readonly deadline: number;
  readonly bindings: Door['bindings'];
  /** Makes a mutation atomic, and keeps it from happening twice. */
  readonly idempotency: Keyed | undefined;
  /** Told what was really wrong before the answer masks it. */
  readonly failed: (cause: unknown) => void;
  readonly gone: Gone;
  /** Fails where it has waited for its turn for too long. */
  readonly admit?: (() => void) | undefined;
  /** Told what is read, where somebody wants to know. */
  readonly noteRead?: Parameters<Watched['make']>[0] | undefined;
  readonly page?: number | undefined;
}
