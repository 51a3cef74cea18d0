/** `duet diff` tells who may do less or more by another file. */

import { describe, expect, test } from 'bun:test';
import { type DatabaseKind, databases, sharedPostgres } from '../app.ts';
import { command, Folder } from '../process.ts';

/** A type with rules, and a field with more of them. */
const file = (ofType: string, ofField: string, more = '') => `
  type Note @resource ${ofType} { id: ID!  text: String ${ofField}  by: String  author: Person ${more} }
  type Person @resource @allow(to: [READ]) { id: ID! }`;

const READ = '@allow(to: [READ])';
const EDIT = '@allow(to: [READ, UPDATE], role: "editor")';
const OWN = '@allow(to: [READ], where: { by: { eq: { claim: "sub" } } })';
const OWN_TOLD = '@allow(to: [READ], where: {"by":{"eq":{"claim":"sub"}}})';

const rows: [string, string, string, string[]][] = [
  ['nothing', file(READ, ''), file(READ, ''), ['  no change']],
  ['the order', file(`${READ} ${EDIT}`, ''), file(`${EDIT} @allow(to: [READ])`, ''), ['  no change']],
  ['a rule more', file(READ, ''), file(`${READ} ${EDIT}`, ''), [`  safe        Note: new: ${EDIT}`]],
  ['a rule less', file(`${READ} ${EDIT}`, ''), file(READ, ''), [`  breaking    Note: gone: ${EDIT}`]],
  [
    'another rule',
    file(READ, ''),
    file(OWN, ''),
    [`  breaking    Note: gone: ${READ}`, `  safe        Note: new: ${OWN_TOLD}`],
  ],
  ['the first rule of a field', file(READ, ''), file(READ, EDIT), [`  breaking    Note.text: new: ${EDIT}`]],
  [
    'the second rule of a field',
    file(READ, EDIT),
    file(READ, `${EDIT} ${OWN}`),
    [`  safe        Note.text: new: ${OWN_TOLD}`],
  ],
  [
    'one of the rules of a field less',
    file(READ, `${EDIT} ${OWN}`),
    file(READ, EDIT),
    [`  breaking    Note.text: gone: ${OWN_TOLD}`],
  ],
  [
    'a rule less that leaves another for some of what it spoke of',
    file(READ, `${EDIT} ${OWN}`),
    file(READ, OWN),
    [`  breaking    Note.text: gone: ${EDIT}`],
  ],
  [
    'the last rule of a field less',
    file(READ, EDIT),
    file(READ, ''),
    [`  safe        Note.text: gone: ${EDIT}`],
  ],
  [
    'a rule of a reference',
    file(READ, ''),
    file(READ, '', EDIT),
    [`  breaking    Note.author: new: ${EDIT}`],
  ],
  [
    'a claim that sets',
    file(READ, ''),
    file(READ, '@set(claim: "sub")'),
    ['  breaking    Note.text: new: @set(claim: "sub")'],
  ],
  [
    'another claim that sets',
    file(READ, '@set(claim: "sub")'),
    file(READ, '@set(claim: "name")'),
    [
      '  safe        Note.text: gone: @set(claim: "sub")',
      '  breaking    Note.text: new: @set(claim: "name")',
    ],
  ],
  [
    'a claim less',
    file(READ, '@set(claim: "sub")'),
    file(READ, ''),
    ['  safe        Note.text: gone: @set(claim: "sub")'],
  ],
  [
    'a rule that now says where an update leads',
    file('@allow(to: [UPDATE])', ''),
    file('@allow(to: [UPDATE], check: { id: { gt: 5 } })', ''),
    [
      '  breaking    Note: gone: @allow(to: [UPDATE])',
      '  safe        Note: new: @allow(to: [UPDATE], check: {"id":{"gt":5}})',
    ],
  ],
  [
    'another type',
    file(READ, ''),
    `${file(READ, '')} type New @resource ${EDIT} { id: ID!  by: String ${OWN} }`,
    [`  safe        New: new: ${EDIT}`, `  safe        New.by: new: ${OWN_TOLD}`],
  ],
];

async function told(kind: DatabaseKind, before: string, after: string): Promise<string[]> {
  using folder = new Folder({ 'schema.graphql': before, 'data.json': '{}' });
  const DATABASE_URL =
    kind === 'sqlite' ? `sqlite:${folder.file('duet.db')}` : await (await sharedPostgres()).database();
  expect((await command(folder, ['migrate'], { DATABASE_URL })).exit).toBe(0);
  await Bun.write(folder.file('schema.graphql'), after);
  const { stdout, stderr, exit } = await command(folder, ['diff'], { DATABASE_URL });
  expect([stderr, exit]).toEqual(['', 0]);
  const lines = stdout.split('\n');
  return lines.slice(lines.indexOf('Rules') + 1, -1);
}

describe.each([...databases])('on %s', (kind) => {
  test.each(rows)('%s', async (_, before, after, wanted) => {
    expect(await told(kind, before, after)).toEqual(wanted);
  });
});

test('rules that come after others are told too', async () => {
  using folder = new Folder({ 'schema.graphql': file(READ, ''), 'data.json': '{}' });
  const env = { DATABASE_URL: `sqlite:${folder.file('duet.db')}` };
  for (const next of [file(READ, ''), file(`${READ} ${EDIT}`, '')]) {
    await Bun.write(folder.file('schema.graphql'), next);
    expect((await command(folder, ['migrate'], env)).exit).toBe(0);
  }
  expect((await command(folder, ['diff'], env)).stdout).toEndWith('Rules\n  no change\n');
});
