/** Members that are passed on are what they would have been, had they been read; and so is the rest. */

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { membersOf } from '../../src/base/members.ts';
import { jsonOf, PassedJson } from '../../src/base/passed.ts';

const hard = fc.constantFrom(
  '"',
  '\\',
  '\\"',
  '\\\\',
  '{',
  '}',
  '[',
  ']',
  ':',
  ',',
  '\u2028',
  '😀',
  '\n',
  'null',
);
const text = fc.oneof(
  fc.string(),
  fc.array(hard).map((parts) => parts.join('')),
);
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    text,
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.oneof(text, fc.constant('__proto__')), tie('value'), { maxKeys: 4 }),
  ),
}));
const names = fc.uniqueArray(
  fc
    .oneof(fc.constantFrom('body', 'tags', 'a"b', 'a\\', ' '), fc.string({ minLength: 1 }))
    .filter((name) => name !== '__proto__'),
  { minLength: 1, maxLength: 6 },
);

test('of any object', () => {
  fc.assert(
    fc.property(
      names,
      fc.infiniteStream(value),
      fc.func(fc.boolean()),
      fc.constantFrom('', ' ', '\t', '\r\n  '),
      (all, values, isPassed, space) => {
        const object = Object.fromEntries(all.map((name) => [name, values.next().value]));
        const passed = new Set(all.filter((name) => isPassed(name)));
        const written = space === '' ? JSON.stringify(object) : JSON.stringify(object, null, space);
        const found = membersOf(written, passed);
        for (const name of all)
          expect(found[name] instanceof PassedJson).toBe(passed.has(name) && object[name] !== null);
        expect(jsonOf(found)).toBe(JSON.stringify(JSON.parse(written)));
      },
    ),
    { numRuns: 2000 },
  );
});

test('what is passed on stays as it is written, twice the same name and long numbers included', () => {
  const body = '{"a":1,"a":12345678901234567890.10,"__proto__":{"b":1e2}}';
  const found = membersOf(`{"id":1,"body":${body},"n":2}`, new Set(['body']));
  expect(jsonOf(found)).toBe(`{"id":1,"body":${body},"n":2}`);
});

test('what is no JSON is an error, and soon', () => {
  const whole = JSON.stringify({ id: 1, body: [{ a: '"' }, 'x\\'], n: { b: [2] } });
  for (let end = 0; end < whole.length; end++)
    expect(() => membersOf(whole.slice(0, end), new Set(['n']))).toThrow(SyntaxError);
});
