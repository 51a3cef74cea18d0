/** What crosses to the writing thread arrives as it was sent, whatever clients put into it. */

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { ResultOf, WriteFailed } from '../../src/engine/transaction.ts';
import { Wire } from '../../src/engine/wire.ts';
import { DuetError } from '../../src/errors.ts';
import type { Model } from '../../src/schema/model.ts';
import { portable, revived } from '../../src/schema/portable.ts';
import { readSchema } from '../../src/schema/read.ts';
import type { Scalar } from '../../src/schema/scalars.ts';
import { shipped } from '../app.ts';

const { model } = readSchema(`${shipped.sdl}
  type Thing @resource {
    id: ID!
    code: String! @unique @constraint(pattern: "^[a-z]+$")
    kind: Kind
    extra: JSON @default(value: { kind: "scalar", name: "Int", standIns: [{}] })
    parent: Thing
    parts: [Thing!]!
  }
  enum Kind { A B }
`);
if (!model) throw new Error('the schema is not sound');
const there = revived(structuredClone(portable(model)));

test('the model arrives whole, with the scalars of the other side', () => {
  expect(there).toEqual(model);
  expect(there).not.toBe(model);
  const typeOf = ({ byType }: Model) => {
    const column = byType.get('Thing')?.fieldByName.get('code');
    return column?.kind === 'column' ? column.type : undefined;
  };
  expect(typeOf(there)).toBe(typeOf(model) as Scalar);
  // A cycle stays one: whoever is referred to is the same object everywhere.
  const thing = there.byType.get('Thing');
  expect(thing?.references[0]?.target === thing && there.resources.includes(thing as never)).toBe(true);
});

const [sender, receiver] = [new Wire(model), new Wire(there)];
const sent = (value: unknown) => receiver.read(sender.write(value));

test('whatever a client writes arrives as it is', () => {
  const key = fc.oneof(
    fc.string(),
    fc.constantFrom('$', '__proto__', 'constructor', 'number', 'part', 'toJSON'),
  );
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.constantFrom(null, true, 0, 1.5, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 'part'),
      fc.string({ unit: 'binary' }),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(key, tie('value'), { maxKeys: 4 }),
    ),
  }));
  fc.assert(
    fc.property(value, (each) => {
      const arrived = sent({ input: each }) as { input: unknown };
      expect(arrived.input).toEqual(each);
      expect(JSON.stringify(arrived.input)).toBe(JSON.stringify(each));
    }),
    { numRuns: 500 },
  );
});

test('a client cannot name a part of the model', () => {
  const forged = { $: 'part', number: 0 };
  expect(sent({ input: forged })).toEqual({ input: forged });
  const [resource] = model.resources;
  expect((sent({ resource }) as { resource: unknown }).resource).toBe(there.resources[0]);
});

test('results and errors keep what they are', () => {
  expect(sent(new ResultOf('u', 'id'))).toEqual(new ResultOf('u', 'id'));
  const refusal = new DuetError('VALIDATION_FAILED', 'No.', {
    errors: [{ pointer: '#/a', code: 'TYPE', detail: 'wrong' }],
    headers: { 'Retry-After': '1' },
  });
  refusal.cause = new Error('the disk');
  const failed = sent(new WriteFailed(2, refusal)) as WriteFailed;
  expect(failed).toBeInstanceOf(WriteFailed);
  expect(failed.index).toBe(2);
  const reason = failed.reason as DuetError;
  expect(reason).toBeInstanceOf(DuetError);
  const { code, status, message, errors, headers, operation } = reason;
  expect({ code, status, message, errors, headers, operation }).toEqual({
    code: 'VALIDATION_FAILED',
    status: 400,
    message: 'No.',
    errors: refusal.errors,
    headers: refusal.headers,
    operation: undefined,
  });
  expect((reason.cause as Error).message).toBe('the disk');
});
