/** The engine cannot be asked without a caller, nor around the rules: the types forbid it. */

import { expect, test } from 'bun:test';
import { Budget } from '../../src/engine/budget.ts';
import { anonymous } from '../../src/engine/caller.ts';
import type { Engine } from '../../src/engine/engine.ts';
import type { Create, Get } from '../../src/engine/operation.ts';
import type { Access } from '../../src/engine/policy/access.ts';
import { Policy } from '../../src/engine/policy/policy.ts';
import { get } from '../../src/engine/read/read.ts';
import { write } from '../../src/engine/write/write.ts';
import type { Model } from '../../src/schema/model.ts';

/** Never run: the type checker reads them, and fails where one of these lines is not an error. */
export function unthinkable(engine: Engine, access: Access, read: Get, create: Create) {
  // @ts-expect-error: nobody asks
  engine.read(read);
  // @ts-expect-error: nobody asks
  engine.write(create);
  // @ts-expect-error: no rule was asked
  engine.readPermitted([read]);
  // @ts-expect-error: no rule was asked
  get(read, new Budget(1));
  // @ts-expect-error: no rule was asked
  write(access, create, new Budget(1));
}

test('without authentication, the policy costs nothing: the operation is what it was', () => {
  const policy = new Policy({ resources: [] } as unknown as Model, false);
  const operation = { do: 'get' } as Get;
  expect(policy.permit(anonymous, operation) as Get).toBe(operation);
});
