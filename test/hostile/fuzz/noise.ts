/** What the dice do to values and texts that were sound: the wrong type, the wrong size, half of it, twice of it. */

import type { Dice } from '../../graphql/generated.ts';

/** Dice that fall alike for the same seed (mulberry32). */
export function choicesOf(seed: number, length: number): number[] {
  let state = seed >>> 0;
  return Array.from({ length }, () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  });
}

/** What a request can be made of beside its values. */
export const odd = {
  methods: ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'PURGE', 'get', 'PROPFIND'],
  contentTypes: [
    'application/json; charset=utf-8',
    'Application/JSON',
    'text/plain',
    'application/json-patch+json',
    'multipart/form-data; boundary=x',
    'application/x-www-form-urlencoded',
    ';',
    '',
  ],
  accepts: [
    'text/csv',
    'application/x-ndjson',
    'application/graphql-response+json',
    'text/html',
    '*/*;q=0',
    'application/json;q=0, text/csv;q=0.1',
    'application/*;q=2, ,;',
    ',',
    'text/csv;header=absent, */*',
  ],
  names: [
    'X-Request-Id',
    'Origin',
    'Content-Encoding',
    'Accept-Encoding',
    'Duet-Trace',
    'X-Forwarded-For',
    'Cookie',
  ],
  values: [
    '1',
    'gzip',
    'identity',
    'null',
    '*',
    'https://evil.test',
    '"',
    "';--",
    'a'.repeat(200),
    '\xe9\xff',
    ',',
  ],
  authorizations: [
    'Bearer',
    'Bearer x.y.z',
    'Basic dTpw',
    'Bearer duet_none',
    'bearer  ',
    `Bearer ${'e'.repeat(900)}`,
  ],
} as const;

/** Nothing here may look like what an answer must not tell (`judge.ts`): answers cite what they were sent. */
export const strangeTexts: readonly string[] = [
  '',
  ' ',
  "' OR 1=1 --",
  '"; --',
  '%',
  '_',
  '\\',
  '\0',
  '\ud800',
  'a\udfffb',
  '\u{1F600}',
  '\u202e\u200b',
  '\ufeff',
  'e\u0301',
  'a\r\nX: y',
  '\u0085\u2028\x7f\x1b[0m',
  '../..',
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'null',
  'true',
  '-0',
  '01',
  '1.0',
  '+1',
  '0x10',
  '1e999',
  '9007199254740993',
  '-9223372036854775809',
  '2147483648',
  '2020-02-30',
  '0000-01-01',
  '-1-01-01',
  '+275760-09-13T00:00:00Z',
  '9999-12-31T23:59:59.999Z',
  '0001-01-01T00:00:00+14:00',
  '2020-01-01T00:00:00.0001Z',
  '2016-12-31T23:59:60Z',
  '{"$ref":"a.id"}',
  '*',
  ',',
  '[',
  'a.b.c',
  'x'.repeat(300),
];

const strangers: readonly unknown[] = [
  true,
  false,
  0,
  -0,
  -1,
  1.5,
  2 ** 31,
  -(2 ** 31) - 1,
  2 ** 53,
  2 ** 63,
  1e21,
  1.7976931348623157e308,
  5e-324,
  [],
  {},
  [null],
  [[]],
  [{}],
  { '': '' },
  JSON.parse('{"__proto__":{"id":1}}'),
  { constructor: { prototype: {} } },
  { $ref: 'a.id' },
  { $ref: { toString: 1, valueOf: 1 } },
  { toString: 1, valueOf: 1 },
  { eq: null },
  Array.from({ length: 200 }, (_, index) => index),
];

export function stranger(dice: Dice): unknown {
  if (dice.once(4)) return null;
  if (dice.once(16)) return deep(dice.pick([8, 33, 400]));
  return dice.once(2) ? dice.pick(strangeTexts) : dice.pick(strangers);
}

function deep(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { a: value };
  return value;
}

const inherited = ['__proto__', 'constructor', 'toString', 'valueOf', 'then', '', 'a\0', '\ud800', '$ref'];

/** The same value with something else somewhere in it. */
export function disturbed(value: unknown, dice: Dice): unknown {
  const isObject = typeof value === 'object' && value !== null;
  const entries = isObject ? Object.entries(value) : [];
  if (entries.length === 0 || dice.once(8)) return stranger(dice);
  const at = dice.roll(entries.length);
  const changed = entries.flatMap(([name, inner], index): [string, unknown][] => {
    if (index !== at) return [[name, inner]];
    switch (dice.roll(6)) {
      case 5:
        return [];
      case 4:
        return [[dice.pick(inherited), inner]];
      case 3:
        return [
          [name, inner],
          [dice.once(2) ? dice.pick(inherited) : `${name}x`, stranger(dice)],
        ];
      case 2:
        return [[name, [inner]]];
      default:
        return [[name, disturbed(inner, dice)]];
    }
  });
  if (Array.isArray(value)) return changed.map(([, inner]) => inner);
  const object = {};
  for (const [name, inner] of changed)
    Object.defineProperty(object, name, {
      value: inner,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  return object;
}

const scraps = [
  '{',
  '}',
  '[',
  ']',
  '"',
  ':',
  ',',
  '\\',
  '(',
  ')',
  '!',
  '$',
  '@',
  '#',
  '...',
  '&',
  '|',
  '=',
  ' ',
];
const pieces = [
  ...scraps,
  '%',
  '%00',
  '%zz',
  '%C0%AF',
  '?',
  ';',
  '/',
  '//',
  '\n',
  '\t',
  '1e999',
  '-',
  '\u{1F600}',
];

/** The same text with something missing, doubled, moved or put in. */
export function scrambled(text: string, dice: Dice): string {
  const [from, to] = [dice.roll(text.length + 1), dice.roll(text.length + 1)].sort((a, b) => a - b);
  const start = from ?? 0;
  const end = Math.min(to ?? 0, start + 40);
  const slice = text.slice(start, end);
  switch (dice.roll(7)) {
    case 6:
      return text.slice(0, start);
    case 5:
      return text.slice(0, start) + text.slice(end);
    case 4:
      return text.slice(0, end) + slice + text.slice(end);
    case 3:
      return text.slice(end) + text.slice(0, end);
    case 2:
      return text.slice(0, start) + dice.pick(strangeTexts) + text.slice(start);
    case 1:
      return text.slice(0, start) + slice.repeat(dice.pick([2, 20, 300])) + text.slice(end);
    default:
      return text.slice(0, start) + dice.pick(pieces) + text.slice(Math.min(text.length, start + 1));
  }
}

const NUMBER = /(?<=[:[,])-?\d+(\.\d+)?/;

/** JSON that says what no value can: numbers beyond all bounds, and the same key twice. */
export function untidy(json: string, dice: Dice): string {
  if (dice.once(2))
    return json.replace(
      NUMBER,
      dice.pick(['1e999', '-0', '9'.repeat(400), '1E5', '01', '.5', 'NaN', '1e-999']),
    );
  const [, member] = /[{,]("(?:[^"\\]|\\.)*":)/.exec(json) ?? [];
  return member === undefined
    ? json
    : json.replace('{', () => `{${member}${dice.pick(['null', '1', '{}', '"x"'])},`);
}
