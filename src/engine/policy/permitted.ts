/** An operation that has passed the gate: only the policy makes one, and nothing else reaches the storage. */

import type { Operation } from '../operation.ts';

declare const passed: unique symbol;

export type Permitted<O extends Operation = Operation> = O & { readonly [passed]: true };
