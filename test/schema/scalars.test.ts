/** Which values each scalar, format and constraint admits, in which form it keeps them, and with which code it refuses the others. */

import { describe, expect, spyOn, test } from 'bun:test';
import type { Fault } from '../../src/base/errors.ts';
import { formats, longestFor, whyDangerous } from '../../src/schema/formats.ts';
import { readKey } from '../../src/schema/keys.ts';
import { readSchema } from '../../src/schema/read.ts';
import { decimals, type Scalar, Serial, scalars } from '../../src/schema/scalars.ts';
import { checkNaturalKey, checkValue } from '../../src/schema/values.ts';

interface Table {
  readonly scalar: string;
  /** The value, and what is kept of it where that differs. */
  readonly accepted: readonly (readonly [value: unknown, kept?: unknown])[];
  readonly refused: readonly (readonly [value: unknown, code: string])[];
}

function nested(depth: number): unknown {
  return depth === 0 ? 1 : [nested(depth - 1)];
}

const notText = [
  [1, 'TYPE'],
  [true, 'TYPE'],
  [['a'], 'TYPE'],
  [{}, 'TYPE'],
  ['a\0b', 'TEXT'],
  ['\ud800', 'TEXT'],
  ['a\udc00b', 'TEXT'],
  ['\udc00\ud800', 'TEXT'],
] as const;

const tables: readonly Table[] = [
  {
    scalar: 'String',
    accepted: [[''], ['a'], ['😀'], ['\ud83d\ude00'], ['\u0001\n\t'], ['\uffff'], ['é'], ['e\u0301']],
    refused: notText,
  },
  { scalar: 'ID', accepted: [[''], ['1'], ['01'], ['en-GB']], refused: notText },
  {
    scalar: 'Int',
    accepted: [[0], [-0, 0], [1.0], [2147483647], [-2147483648]],
    refused: [
      [2147483648, 'OUT_OF_RANGE'],
      [-2147483649, 'OUT_OF_RANGE'],
      [1e300, 'OUT_OF_RANGE'],
      [1.5, 'TYPE'],
      [Number.NaN, 'TYPE'],
      [Number.POSITIVE_INFINITY, 'TYPE'],
      ['1', 'TYPE'],
      [true, 'TYPE'],
      [[1], 'TYPE'],
    ],
  },
  {
    scalar: 'BigInt',
    accepted: [['0'], ['-0', '0'], ['42'], ['9223372036854775807'], ['-9223372036854775808']],
    refused: [
      ['9223372036854775808', 'OUT_OF_RANGE'],
      ['-9223372036854775809', 'OUT_OF_RANGE'],
      ['9'.repeat(100_000), 'FORMAT'],
      ['1.0', 'FORMAT'],
      ['1e3', 'FORMAT'],
      ['0x1f', 'FORMAT'],
      ['٣', 'FORMAT'],
      ['', 'FORMAT'],
      [1, 'TYPE'],
      [1n, 'TYPE'],
      [null, 'TYPE'],
      [['1'], 'TYPE'],
    ],
  },
  {
    // Of scale 0; the others are below.
    scalar: 'Decimal',
    accepted: [['0'], ['-0', '0'], ['9223372036854775807'], ['-9223372036854775807']],
    refused: [
      ['-9223372036854775808', 'OUT_OF_RANGE'],
      ['1.0', 'FORMAT'],
      [1, 'TYPE'],
    ],
  },
  {
    scalar: 'Float',
    accepted: [[0], [-0, 0], [0.1], [-1e308], [Number.MIN_VALUE], [2 ** 60]],
    refused: [
      [Number.NaN, 'OUT_OF_RANGE'],
      [Number.POSITIVE_INFINITY, 'OUT_OF_RANGE'],
      [Number.NEGATIVE_INFINITY, 'OUT_OF_RANGE'],
      ['0.1', 'TYPE'],
      [false, 'TYPE'],
    ],
  },
  {
    scalar: 'Boolean',
    accepted: [[true], [false]],
    refused: [
      [0, 'TYPE'],
      [1, 'TYPE'],
      ['true', 'TYPE'],
      ['', 'TYPE'],
    ],
  },
  {
    scalar: 'DateTime',
    accepted: [
      ['2024-05-01T12:30:00Z', '2024-05-01T12:30:00.000Z'],
      ['2024-05-01t12:30:00z', '2024-05-01T12:30:00.000Z'],
      ['2024-05-01T12:30:00.5Z', '2024-05-01T12:30:00.500Z'],
      ['2024-05-01T12:30:00.123Z'],
      // Zeros beyond the millisecond say nothing finer.
      ['2024-05-01T12:30:00.123000Z', '2024-05-01T12:30:00.123Z'],
      ['2024-05-01T12:30:00.000000000Z', '2024-05-01T12:30:00.000Z'],
      ['2024-05-01T12:30:00+02:00', '2024-05-01T10:30:00.000Z'],
      ['2024-05-01T00:30:00+05:45', '2024-04-30T18:45:00.000Z'],
      ['2024-12-31T23:30:00-01:00', '2025-01-01T00:30:00.000Z'],
      ['2024-05-01T12:30:00-00:00', '2024-05-01T12:30:00.000Z'],
      ['2024-05-01T12:30:00+23:59', '2024-04-30T12:31:00.000Z'],
      ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
      ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
      ['0001-01-01T01:00:00+01:00', '0001-01-01T00:00:00.000Z'],
      ['9999-12-31T23:59:59.999Z'],
      ['9999-12-31T22:59:59-01:00', '9999-12-31T23:59:59.000Z'],
    ],
    refused: [
      ['2024-05-01T12:30:00.1234Z', 'FORMAT'],
      ['2024-05-01T12:30:00.0001Z', 'FORMAT'],
      ['2024-05-01T12:30:00.Z', 'FORMAT'],
      ['2016-12-31T23:59:60Z', 'FORMAT'],
      ['2023-02-29T00:00:00Z', 'FORMAT'],
      ['2024-02-30T00:00:00Z', 'FORMAT'],
      ['2024-13-01T00:00:00Z', 'FORMAT'],
      ['2024-05-01T24:00:00Z', 'FORMAT'],
      ['2024-05-01T12:60:00Z', 'FORMAT'],
      ['2024-05-01T12:30:00+24:00', 'FORMAT'],
      ['2024-05-01T12:30:00+01:60', 'FORMAT'],
      ['2024-05-01T12:30:00+0100', 'FORMAT'],
      ['2024-05-01T12:30:00', 'FORMAT'],
      ['2024-05-01T12:30Z', 'FORMAT'],
      ['2024-05-01 12:30:00Z', 'FORMAT'],
      ['2024-05-01', 'FORMAT'],
      [' 2024-05-01T12:30:00Z', 'FORMAT'],
      ['2024-05-01T12:30:00Z\n', 'FORMAT'],
      ['+002024-05-01T12:30:00Z', 'FORMAT'],
      ['0000-01-01T00:00:00Z', 'FORMAT'],
      ['0000-12-31T23:30:00-01:00', 'FORMAT'],
      ['0001-01-01T00:00:00+00:01', 'FORMAT'],
      ['9999-12-31T23:59:59-00:01', 'FORMAT'],
      ['', 'FORMAT'],
      [1714566600000, 'TYPE'],
      [new Date(0), 'TYPE'],
    ],
  },
  {
    scalar: 'Date',
    accepted: [['2024-05-01'], ['2024-02-29'], ['2000-02-29'], ['0001-01-01'], ['9999-12-31']],
    refused: [
      ['2023-02-29', 'FORMAT'],
      ['1900-02-29', 'FORMAT'],
      ['2024-02-30', 'FORMAT'],
      ['2024-04-31', 'FORMAT'],
      ['2024-00-10', 'FORMAT'],
      ['2024-01-00', 'FORMAT'],
      ['2024-1-1', 'FORMAT'],
      ['0000-01-01', 'FORMAT'],
      ['10000-01-01', 'FORMAT'],
      ['2024-05-01T00:00:00Z', 'FORMAT'],
      ['2024-05-01\n', 'FORMAT'],
      ['', 'FORMAT'],
      [20240501, 'TYPE'],
    ],
  },
  {
    scalar: 'UUID',
    accepted: [
      ['0190f5a0-7c1e-7a64-b3f5-2b1f3c0e9a11'],
      ['0190F5A0-7C1E-7A64-B3F5-2B1F3C0E9A11', '0190f5a0-7c1e-7a64-b3f5-2b1f3c0e9a11'],
      ['00000000-0000-0000-0000-000000000000'],
      ['FFFFFFFF-ffff-FFFF-ffff-FFFFFFFFFFFF', 'ffffffff-ffff-ffff-ffff-ffffffffffff'],
    ],
    refused: [
      ['0190f5a07c1e7a64b3f52b1f3c0e9a11', 'FORMAT'],
      ['{0190f5a0-7c1e-7a64-b3f5-2b1f3c0e9a11}', 'FORMAT'],
      ['urn:uuid:0190f5a0-7c1e-7a64-b3f5-2b1f3c0e9a11', 'FORMAT'],
      ['0190f5a0-7c1e-7a64-b3f5-2b1f3c0e9a1', 'FORMAT'],
      ['0190f5a0-7c1e-7a64-b3f5-2b1f3c0e9a1g', 'FORMAT'],
      ['0190f5a0-7c1e-7a64-b3f5-2b1f3c0e9a11\n', 'FORMAT'],
      ['', 'FORMAT'],
      [1, 'TYPE'],
    ],
  },
  {
    scalar: 'JSON',
    accepted: [[0], [''], [true], [[]], [{}], [{ a: [1, null, { b: 'c' }] }], [nested(24)]],
    refused: [
      [nested(25), 'TYPE'],
      [{ a: Number.NaN }, 'OUT_OF_RANGE'],
      [[Number.POSITIVE_INFINITY], 'OUT_OF_RANGE'],
      ['\0', 'TEXT'],
      [{ a: ['\ud800'] }, 'TEXT'],
      [{ 'a\0': 1 }, 'TEXT'],
    ],
  },
  {
    scalar: 'Serial',
    accepted: [[1], [9007199254740991]],
    refused: [
      [0, 'OUT_OF_RANGE'],
      [-0, 'OUT_OF_RANGE'],
      [-1, 'OUT_OF_RANGE'],
      [9007199254740992, 'OUT_OF_RANGE'],
      [1.5, 'TYPE'],
      [Number.NaN, 'TYPE'],
      ['1', 'TYPE'],
      [true, 'TYPE'],
    ],
  },
];

function scalarNamed(name: string): Scalar {
  const found = name === Serial.name ? Serial : scalars.get(name);
  if (!found) throw new Error(`no scalar ${name}`);
  return found;
}

/** On one line, with what JSON would not tell apart: -0, NaN and half surrogates. */
function shown(value: unknown): string {
  return Bun.inspect(value).replaceAll(/\s+/g, ' ').slice(0, 60);
}

function check(scalar: Scalar, value: unknown) {
  const codes: string[] = [];
  const kept = scalar.check(value, (code) => codes.push(code));
  return { kept, codes };
}

for (const { scalar: name, accepted, refused } of tables)
  describe(name, () => {
    const scalar = scalarNamed(name);
    for (const row of accepted) {
      const [value] = row;
      const kept = row.length === 2 ? row[1] : value;
      test(`admits ${shown(value)}`, () => {
        const result = check(scalar, value);
        expect(result.codes).toEqual([]);
        if (typeof kept === 'object') expect(result.kept).toEqual(kept);
        else expect(result.kept).toBe(kept);
        // A canonical form is its own canonical form.
        expect(check(scalar, result.kept)).toEqual({ kept: result.kept, codes: [] });
      });
    }
    for (const [value, code] of refused)
      test(`refuses ${shown(value)}: ${code}`, () => {
        expect(check(scalar, value).codes).toEqual([code]);
      });
  });

test('every scalar has a table', () => {
  expect(tables.map(({ scalar }) => scalar).sort()).toEqual([...scalars.keys(), Serial.name].sort());
});

test('JSON reports each fault of a value', () => {
  expect(check(scalarNamed('JSON'), { a: '\0', b: [Number.NaN, '\ud800'] }).codes).toEqual([
    'TEXT',
    'OUT_OF_RANGE',
    'TEXT',
  ]);
});

describe('formats', () => {
  const rows: Record<string, { yes: readonly string[]; no: readonly string[] }> = {
    email: {
      yes: [
        'a@b',
        'ann@example.com',
        "o'neil+tag@sub.example.co.uk",
        'a.b_c@x-y.org',
        '1@2.3',
        `${'a'.repeat(64)}@b.c`,
        `a@${'b'.repeat(63)}.c`,
      ],
      no: [
        '',
        'ann',
        '@b',
        'a@',
        'a@b@c',
        'a b@c',
        'a@b c',
        'a@-b.c',
        'a@b-.c',
        'a@b..c',
        'a@.b',
        'a@b.',
        'ä@b.c',
        'a@b.c\n',
        `${'a'.repeat(65)}@b.c`,
        `a@${'b'.repeat(64)}.c`,
        `a@${'b.'.repeat(128)}c`,
      ],
    },
    uri: {
      yes: [
        'http://example.com',
        'https://user:pass@example.com:8080/a/b?c=d&e=%20#f',
        'mailto:ann@example.com',
        'urn:isbn:0451450523',
        'http://[::1]/',
        'ftp://a',
        'tel:+1-816-555-1212',
      ],
      no: [
        '',
        'example.com',
        '/a/b',
        '//example.com',
        'http:',
        'http://',
        'http://a b',
        'http://a/ä',
        'http://a/\\b',
        'http://a/%zz',
        'http://a/%2',
        'http://a:99999/',
        '1http://a',
        ' http://a',
        'http://a\n',
        'http://a/<b>',
      ],
    },
    uuid: {
      yes: ['0190f5a0-7c1e-7a64-b3f5-2b1f3c0e9a11', '0190F5A0-7C1E-7A64-B3F5-2B1F3C0E9A11'],
      no: ['', '0190f5a07c1e7a64b3f52b1f3c0e9a11', '0190f5a0-7c1e-7a64-b3f5-2b1f3c0e9a1x'],
    },
    'date-time': {
      yes: ['2024-05-01T12:30:00Z', '2024-05-01t12:30:00.5+02:00'],
      no: ['', '2024-05-01', '2024-02-30T00:00:00Z', '2024-05-01T12:30:00', '2016-12-31T23:59:60Z'],
    },
    date: { yes: ['2024-02-29'], no: ['', '2023-02-29', '2024-2-1', '2024-05-01T12:30:00Z'] },
    ipv4: {
      yes: ['0.0.0.0', '127.0.0.1', '255.255.255.255'],
      no: ['', '1.2.3', '1.2.3.4.5', '256.1.1.1', '01.2.3.4', '1.2.3.4 ', '0x1.2.3.4', '::1', '1.2.3.4/8'],
    },
    ipv6: {
      yes: ['::', '::1', '2001:db8::8a2e:370:7334', '2001:DB8:0:0:0:0:0:1', '::ffff:1.2.3.4'],
      no: [
        '',
        ':',
        '1::2::3',
        '12345::',
        '1:2:3:4:5:6:7',
        '[::1]',
        '::1/64',
        'fe80::1%eth0',
        '1.2.3.4',
        '::g',
      ],
    },
  };

  test('every format has a table', () => {
    expect(Object.keys(rows).sort()).toEqual([...formats.keys()].sort());
  });

  for (const [name, { yes, no }] of Object.entries(rows)) {
    const format = formats.get(name);
    for (const text of yes)
      test(`${JSON.stringify(text).slice(0, 60)} is ${name}`, () => expect(format?.test(text)).toBe(true));
    for (const text of no)
      test(`${JSON.stringify(text).slice(0, 60)} is not ${name}`, () =>
        expect(format?.test(text)).toBe(false));
  }
});

describe('Decimals of each scale', () => {
  const rows: readonly (readonly [scale: number, value: unknown, kept: string | undefined, code?: string])[] =
    [
      [2, '12.5', '12.50'],
      [2, '12', '12.00'],
      [2, '-0.00', '0.00'],
      [2, '-0.05', '-0.05'],
      [2, '92233720368547758.07', '92233720368547758.07'],
      [2, '-92233720368547758.07', '-92233720368547758.07'],
      [2, '92233720368547758.08', undefined, 'OUT_OF_RANGE'],
      [2, '-92233720368547758.08', undefined, 'OUT_OF_RANGE'],
      [2, '12.500', undefined, 'FORMAT'],
      [2, '12.', undefined, 'FORMAT'],
      [2, '.5', undefined, 'FORMAT'],
      [2, '00.5', undefined, 'FORMAT'],
      [2, '1e1', undefined, 'FORMAT'],
      [2, 12.5, undefined, 'TYPE'],
      [18, '9.223372036854775807', '9.223372036854775807'],
      [18, '-0.000000000000000001', '-0.000000000000000001'],
      [18, '10', undefined, 'OUT_OF_RANGE'],
    ];
  for (const [scale, value, kept, code] of rows)
    test(`${value} of scale ${scale} is ${kept ?? code}`, () => {
      const codes: string[] = [];
      const checked = decimals[scale]?.check(value, (each) => codes.push(each));
      expect(codes).toEqual(code === undefined ? [] : [code]);
      if (kept !== undefined) expect(checked).toBe(kept);
    });
});

describe('patterns', () => {
  const dangerous = [
    ['(a+)+', 'nested quantifiers'],
    ['^(a*)*$', 'nested quantifiers'],
    ['(a+)*?', 'nested quantifiers'],
    ['(a{1,5})+', 'nested quantifiers'],
    ['(a{1,})*', 'nested quantifiers'],
    ['(a?a?)*', 'nested quantifiers'],
    ['(a+){2,}', 'nested quantifiers'],
    ['(a+){1,9}', 'nested quantifiers'],
    ['(?:a+)+', 'nested quantifiers'],
    ['(?<word>\\w+)+', 'nested quantifiers'],
    ['((a+)b)*', 'nested quantifiers'],
    ['((a)+b)*', 'nested quantifiers'],
    ['([a-z]+)*', 'nested quantifiers'],
    ['([^)]+)*', 'nested quantifiers'],
    ['([\\]]+)+', 'nested quantifiers'],
    ['(\\(+)+', 'nested quantifiers'],
    ['(\\p{L}?\\p{L}?)*', 'nested quantifiers'],
    // The braces of a code point look like a quantifier, and then the question mark like a lazy one.
    ['(\\u{61}?\\u{61}?)*', 'nested quantifiers'],
    // A fixed count is no cure when each turn leaves a choice.
    ['^(a?){30}a{30}$', 'nested quantifiers'],
    ['^(a+){20}$', 'nested quantifiers'],
    ['^((a?){4}){8}$', 'nested quantifiers'],
    ['(a|b)*', 'alternatives in a repeated group'],
    ['(a|aa)+', 'alternatives in a repeated group'],
    ['((a|b)c)+', 'alternatives in a repeated group'],
    ['^(a|a){30}$', 'alternatives in a repeated group'],
    ['(a)\\1', 'back-references'],
    ['(?<x>a)\\k<x>', 'back-references'],
  ] as const;
  for (const [pattern, why] of dangerous)
    test(`${pattern} has ${why}`, () => {
      expect(() => new RegExp(pattern, 'u')).not.toThrow();
      expect(whyDangerous(pattern)).toBe(why);
    });

  const safe = [
    '',
    '^a+$',
    '^[a-z]+-[0-9]*$',
    '^(red|green|blue)$',
    '^(abc)+$',
    '^(?:ab){2,5}$',
    '^(a+)?$',
    '^(a+)$',
    '^(a+|b+)$',
    '^(a{2})*$',
    '^(a{2,2})*$',
    '^(\\d{1,3}\\.){3}\\d{1,3}$',
    '^([0-9a-f]{1,4}:){7}[0-9a-f]{1,4}$',
    '^[+*?{}()|]+$',
    '^[\\]+]+$',
    '^\\(+\\)+$',
    '^(\\+\\*)+$',
    '^(\\u{61}b)+$',
    '^(\\p{L}-)+$',
    '^(?=.*\\d)(?=.*[a-z]).{8,}$',
    '^\\0+$',
    '^a+?b$',
    '^a??b$',
  ];
  // Text that nearly matches, for every way to begin, is what makes a backtracking matcher try them all.
  const hostile = ['a', 'ab', '1.', 'f:', '(', 'é-', '+*'].map(
    (part) => `${part.repeat(30_000 / part.length)}!`,
  );
  for (const pattern of safe)
    test(`${pattern || 'the empty pattern'} is safe`, () => {
      expect(whyDangerous(pattern)).toBeUndefined();
      const expression = new RegExp(pattern, 'u');
      for (const text of hostile) expect([true, false]).toContain(expression.test(text));
    });
});

describe('how long a text may be for a pattern', () => {
  const rows: readonly (readonly [pattern: string, longest: number | undefined])[] = [
    // What repeats ends only where the next part begins, or begins only behind what it does not contain.
    ['^[a-z]+-[a-z]+-[0-9]*$', undefined],
    ['^\\p{L}+ \\p{L}+$', undefined],
    ['^\\p{L}+\\p{N}+$', undefined],
    ['^[^@]+@[^@]+$', undefined],
    ['^(a+|b+)c*$', undefined],
    ['^.*x$', undefined],
    ['\\.[a-z]+$', undefined],
    ['(?<=a+b)c', undefined],
    ['^(?=.*\\d)(?=.*[a-z]).{8,}$', undefined],
    ['^\\+?[0-9]{3,20}$', undefined],
    ['^[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}$', undefined],
    ['^\\d{4}-\\d{2}-\\d{2}$', undefined],
    ['^\\d+\\.\\d+\\.\\d+(?:-[0-9A-Za-z.-]+)?(?:\\+[0-9A-Za-z.-]+)?$', undefined],
    ['^[+-]?\\d+(?:\\.\\d+)?(?:[eE][+-]?\\d+)?$', undefined],
    ['^(?!-)[a-z0-9-]{1,63}(?<!-)$', undefined],
    ['^\\s*\\S+\\s*$', undefined],
    ['[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}', undefined],
    // Alternatives that begin differently exclude each other, and what follows excludes all ends but one.
    [
      '^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \\d{2} (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \\d{4}$',
      undefined,
    ],
    ['^(?:25[0-5]|2[0-4]\\d|1?\\d?\\d)(?:\\.(?:25[0-5]|2[0-4]\\d|1?\\d?\\d)){3}$', undefined],
    ['apple|banana|cherry|date|elder|fig|grape', undefined],
    // Few turns, or few ways.
    ['^a{0,30}a{0,30}$', undefined],
    ['a{1,45}b', undefined],
    ['^(?:a|a)(?:a|a)(?:a|a)$', undefined],
    // Nothing can fail behind it.
    ['[a-z]+', undefined],
    ['^.*x.*', undefined],
    ['^(a*)?a*$', 99],
    ['^a*b*a*$', 98],
    ['^.*x.*y$', 71],
    ['^(?:a*|b)a*$', 99],
    ['^(?:ab)*[a-c]+$', 101],
    ['^[a-z]+[\\u{61}]+$', 101],
    ['^[^a]+[^b]+$', 101],
    ['^.{1,200}-.{1,200}$', 102],
    ['^[^@]+@[^@]+\\.[^@]+$', 102],
    // Without ^ it is begun anew at each character.
    ['a+b', 103],
    ['[a-z]+$', 103],
    ['^\\s+|\\s+$', 99],
    // A look takes a step at least wherever the part before it may end.
    ['^a*(?=.*x)b', 100],
    ['^[bc]*((?!a))+[bc]*$', 98],
    // It may ignore case.
    ['^(?i:a+)A+$', 16],
    ['.*x.*y', 17],
    ['^.*a.*a.*b', 18],
    ['^a*a*a*a*b', 8],
    // Bounded repeats are loops as well, while the text is shorter than they can be long.
    ['^.{1,100}-.{1,100}$', 103],
    ['a{1,100}b', 103],
    ['\\w{1,64}@', 158],
    ['(?:a{100}){10}b', 149],
    ['^a*a{0,100}$', 101],
    ['^(?:a{100})*a*$', 101],
    ['^a{0,100}a{0,100}a{0,50}a*$', 8],
    ['^a{0,100}a{0,100}a{0,100}a{0,100}$', 8],
    ['^[0-9]{1,50}[0-9 ]{0,50}[0-9]{1,50}[0-9 ]{0,50}[0-9]{0,50}$', 5],
    // With so many ways even short text takes long.
    [`^${'a*'.repeat(20)}$`, 1],
    [`^${'a*'.repeat(180)}$`, 0],
    [`^${'a?'.repeat(22)}$`, 0],
    [`^${'(?:|)'.repeat(22)}x$`, 0],
  ];
  for (const [pattern, longest] of rows)
    test(pattern, () => {
      expect(whyDangerous(pattern)).toBeUndefined();
      expect(longestFor(pattern)).toBe(longest);
      const expression = new RegExp(pattern, 'u');
      for (const part of ['a', 'x', 'ab', '1', '-', ' '])
        expect([true, false]).toContain(
          expression.test(`${part.repeat((longest ?? 60_000) / part.length)}!`),
        );
    });
});

describe('values of a field', () => {
  const sdl = `
    type Book @resource {
      id: ID!
      title: String @constraint(minLength: 2, maxLength: 3)
      code: String @constraint(pattern: "^[a-z]+$", maxLength: 5)
      mail: String @constraint(format: "email", minLength: 3)
      price: Float @constraint(min: -0.5, max: 10)
      pages: Int @constraint(min: 1)
      color: Color
      tags: [String!] @constraint(minLength: 1)
      times: [DateTime!]
      colors: [Color!]
      name: String @caseless @unique @constraint(maxLength: 50)
      word: String @caseless @unique
    }
    enum Color { RED GREEN }
  `;
  const book = readSchema(sdl).model?.byType.get('Book');
  const rows: readonly (readonly [field: string, value: unknown, ...faults: string[]])[] = [
    ['title', 'ab'],
    // Characters are code points: an emoji is one, though it has two UTF-16 units.
    ['title', '😀😀😀'],
    ['title', '😀', '#/title LENGTH title must have at least 2 characters'],
    ['title', 'abcd', '#/title LENGTH title must have at most 3 characters'],
    // What is of the wrong type is not measured as well.
    ['title', 1, '#/title TYPE title must be a string'],
    ['code', 'abc'],
    ['code', 'ABC', '#/code PATTERN code must match ^[a-z]+$'],
    // A pattern is not tried on text that is too long anyway.
    ['code', 'ABCDEF', '#/code LENGTH code must have at most 5 characters'],
    ['mail', 'a@b'],
    [
      'mail',
      'a',
      '#/mail LENGTH mail must have at least 3 characters',
      '#/mail FORMAT mail must be an e-mail address',
    ],
    ['price', -0.5],
    ['price', 10],
    ['price', -0.51, '#/price OUT_OF_RANGE price must be -0.5 or more'],
    ['price', 10.01, '#/price OUT_OF_RANGE price must be 10 or less'],
    ['pages', 0, '#/pages OUT_OF_RANGE pages must be 1 or more'],
    ['color', 'RED'],
    ['color', 'red', '#/color ENUM color must be one of RED, GREEN'],
    ['color', 0, '#/color TYPE color must be a string'],
    ['tags', []],
    ['tags', 'a', '#/tags TYPE tags must be a list'],
    [
      'tags',
      ['a', '', null],
      '#/tags/1 LENGTH tags/1 must have at least 1 character',
      '#/tags/2 REQUIRED tags/2 must not be null',
    ],
    ['times', ['now'], '#/times/0 FORMAT times/0 must be an RFC 3339 time, to the millisecond at most'],
    ['colors', ['RED', 'BLUE'], '#/colors/1 ENUM colors/1 must be one of RED, GREEN'],
  ];
  test('nobody looks for more faults than are told', () => {
    const faults: Fault[] = [];
    const tags = book?.columns.find((column) => column.name === 'tags');
    if (tags) checkValue(tags, Array(1000).fill(1), faults);
    expect(faults.length).toBe(101);
  });

  for (const [name, value, ...expected] of rows)
    test(`${name}: ${shown(value)}${expected.length === 0 ? '' : ' is refused'}`, () => {
      const column = book?.columns.find((each) => each.name === name);
      if (!column) throw new Error(`no field ${name}`);
      const faults: Fault[] = [];
      checkValue(column, value, faults);
      expect(faults.map((fault) => Object.values(fault).join(' '))).toEqual(expected);
    });

  test.each([
    ['name', 'must have at most 50 characters'],
    ['word', 'must have at most 2600 bytes, as an index has it'],
  ])('%s: what is too long anyway is not folded', (name, wanted) => {
    const column = book?.columns.find((each) => each.name === name);
    if (!column) throw new Error(`no field ${name}`);
    const faults: Fault[] = [];
    const normalize = spyOn(String.prototype, 'normalize');
    checkValue(column, 'é'.repeat(6000), faults);
    expect(normalize).not.toHaveBeenCalled();
    normalize.mockRestore();
    expect(faults.map(({ detail }) => detail)).toEqual([`${name} ${wanted}`]);
  });

  test('items of a list are kept in canonical form', () => {
    const column = book?.columns.find((each) => each.name === 'times');
    if (!column) throw new Error('no field times');
    expect(checkValue(column, ['2024-05-01T12:30:00+02:00'], [])).toEqual(['2024-05-01T10:30:00.000Z']);
  });
});

describe('keys as text', () => {
  const sdl = `
    type Serials @resource { id: ID! }
    type Uuids @resource { id: UUID! }
    type Naturals @resource { name: String! @key }
  `;
  const keyOf = (type: string) => {
    const key = readSchema(sdl).model?.byType.get(type)?.key;
    if (!key) throw new Error(`no key of ${type}`);
    return key;
  };
  const rows: readonly (readonly [type: string, text: string, key: string | number | undefined])[] = [
    ['Serials', '1', 1],
    ['Serials', '9007199254740991', 9007199254740991],
    ['Serials', '9007199254740992', undefined],
    // As a number it would be rounded to that of another record.
    ['Serials', '9007199254740993', undefined],
    ['Serials', '0', undefined],
    ['Serials', '01', undefined],
    ['Serials', '-1', undefined],
    ['Serials', '+1', undefined],
    ['Serials', '1.0', undefined],
    ['Serials', '1e3', undefined],
    ['Serials', '0x1', undefined],
    ['Serials', ' 1', undefined],
    ['Serials', '1\n', undefined],
    ['Serials', '١', undefined],
    ['Serials', 'abc', undefined],
    ['Serials', '\0', undefined],
    ['Serials', '', undefined],
    ['Uuids', '0190F5A0-7C1E-7A64-B3F5-2B1F3C0E9A11', '0190f5a0-7c1e-7a64-b3f5-2b1f3c0e9a11'],
    ['Uuids', '1', undefined],
    ['Naturals', 'en', 'en'],
    ['Naturals', '01', '01'],
    ['Naturals', 'a\0', undefined],
    ['Naturals', '\ud800', undefined],
  ];
  for (const [type, text, key] of rows)
    test(`${JSON.stringify(text)} of ${type} is ${key}`, () => {
      expect(readKey(keyOf(type), text)).toBe(key);
    });

  for (const text of ['', '.', '..'])
    test(`${JSON.stringify(text)} can be no natural key, for no path could name it`, () => {
      const faults: Fault[] = [];
      checkNaturalKey(keyOf('Naturals'), text, faults);
      expect(faults).toMatchObject([{ pointer: '#/name', code: 'FORMAT' }]);
    });

  for (const text of ['...', 'a', ' ', '.a'])
    test(`${JSON.stringify(text)} can be a natural key`, () => {
      const faults: Fault[] = [];
      checkNaturalKey(keyOf('Naturals'), text, faults);
      expect(faults).toEqual([]);
    });
});
