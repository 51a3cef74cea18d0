/** Values made from a schema: one that it allows, and many that it does not. */

import type { Description } from './described.ts';

const byFormat: Record<string, string> = {
  email: 'a@b.example',
  uri: 'urn:x:y',
  uuid: '01890f5a-7c1e-7a64-b3f5-2b1f3c0e9a11',
  'date-time': '2020-02-29T23:59:59.5+01:00',
  date: '2020-02-29',
  decimal: '12.5',
  int64: '42',
  ipv4: '10.0.0.1',
  ipv6: '::1',
};

/** One value of the schema, as far as types, formats, enums and bounds go. */
export function sample(description: Description, given: any): any {
  const schema = description.schema(given);
  if (schema.anyOf) return sample(description, schema.anyOf[0]);
  if (schema.enum) return schema.enum[0];
  switch ([schema.type].flat()[0]) {
    case 'integer':
    case 'number':
      return Math.max(schema.minimum ?? 1, 1);
    case 'boolean':
      return true;
    case 'array':
      return [sample(description, schema.items)];
    case 'object': {
      const [[name, value] = ['', undefined]] = Object.entries(schema.minProperties ? schema.properties : {});
      return name === '' ? {} : { [name]: sample(description, value) };
    }
    default:
      return byFormat[schema.format] ?? 'text'.padEnd(schema.minLength ?? 0, 'x').slice(0, schema.maxLength);
  }
}

/** Values at and beyond every edge of the schema; which of them it allows is for the validator to say. */
export function edges(description: Description, given: any): unknown[] {
  const schema = description.schema(given);
  const strangers = [null, true, 0, -1, 1.5, 2 ** 31, 1e300, '', 'x', '1', '\u{1F600}', {}, [], [null], [[]]];
  const own: unknown[] = [];
  for (const option of schema.anyOf ?? []) own.push(...edges(description, option));
  if (schema.items) own.push(...edges(description, schema.items).map((item) => [item]));
  if (schema.enum) own.push(...schema.enum, ...schema.enum.map((value: string) => value.toLowerCase()));
  for (const name of ['minimum', 'maximum'])
    if (schema[name] !== undefined)
      own.push(schema[name], schema[name] + 1, schema[name] - 1, schema[name] + 0.5);
  for (const name of ['minLength', 'maxLength'])
    for (const by of schema[name] === undefined ? [] : [-1, 0, 1])
      for (const letter of ['a', '\u{1F600}']) own.push(letter.repeat(Math.max(0, schema[name] + by)));
  if (schema.format === 'date-time' && schema.pattern)
    own.push('2020-01-01T00:00:00.1234Z', '2020-01-01 00:00:00Z');
  if ([schema.type].flat().includes('string')) own.push('.', '..', 'a/b', 'Text', ...Object.values(byFormat));
  return [...strangers, ...own];
}
