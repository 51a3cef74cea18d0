/** `@check` of what is nested in new records: told of every level at once, before anything is stored, through both doors. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, openApp } from '../app.ts';

const atLeast0 = (name: string) => `@check(where: { v: { gte: 0 } }, message: "${name}")`;
const sdl = `
  type Team @resource @check(where: { n: { lt: 10 } }, message: "team")
    { id: ID!  name: String @unique  n: Int @default(value: 1)  jobs: [Job!]!  notes: [Note!]!  tags: [Tag!]! @through(type: "TeamTag") }
  type Job @resource ${atLeast0('job')}
    { id: ID!  v: Int  team: Team  steps: [Step!]! }
  type Step @resource ${atLeast0('step')}
    { id: ID!  v: Int  job: Job }
  type Note @resource ${atLeast0('note')}
    @check(where: { or: [{ teamId: { isNull: false } }, { v: { eq: 0 } }] }, message: "lone")
    { id: ID!  v: Int  team: Team }
  type Tag @resource { id: ID!  name: String }
  type TeamTag @resource @check(where: { tagId: { ne: 2 } }, message: "tag")
    { id: ID!  team: Team! @onDelete(do: CASCADE)  tag: Tag! @onDelete(do: CASCADE) }
  type Squad @resource { id: ID!  name: String @unique  n: Int @constraint(max: 9)  tasks: [Task!]!  chores: [Chore!]! }
  type Task @resource @check(where: { size: { lt: 100 } }, message: "task")
    { id: ID!  v: Int  squad: Squad  size: Int @computed(from: ["v"], stored: true) }
  type Chore @resource ${atLeast0('chore')} { id: ID!  v: Int  squad: Squad }`;
const data = {
  teams: [{ name: 'taken' }],
  squads: [{ name: 'taken' }],
  tags: [{ name: 'a' }, { name: 'b' }],
};

const asked: string[] = [];
const logic = {
  Task: { size: ({ v }: any) => v * 10 },
  Chore: { beforeCreate: ({ input }: any) => ({ ...input, v: Math.abs(input.v) }) },
  Squad: {
    beforeCreate({ input }: any) {
      asked.push(input.name);
      return { ...input, n: 5 };
    },
  },
};

type Told = [code: string | undefined, ...faults: string[]];
const toldOf = ({ code, errors = [] }: any, prefix = ''): Told => [
  code,
  ...errors.map((each: any) => `${each.pointer.replace(prefix, '')} ${each.detail}`),
];

/** The same new record by itself, and as one of many, which tells it at its place. */
async function told(
  app: AppUnderTest,
  type: 'Team' | 'Squad',
  record: Record<string, unknown>,
): Promise<Told> {
  const path = `/${type.toLowerCase()}s`;
  const before = (await app.rest('GET', path)).body;
  const transact = async (body: unknown, at: string) =>
    toldOf(
      (await app.rest('POST', '/transaction', { operations: [{ method: 'POST', path, body }] })).body,
      `#/operations/0/body${at}`,
    );
  const mutate = async (text: string, variables: Record<string, unknown>, at: string) =>
    toldOf((await app.graphql(text, variables)).errors?.[0].extensions ?? {}, `#${at}`);
  const answers = [
    toldOf((await app.rest('POST', path, record)).body, '#'),
    await transact(record, ''),
    await transact([{ name: 'other' }, record], '/1'),
    await mutate(
      `mutation ($r: [${type}Input!]!) { create${type}s(records: $r) { id } }`,
      { r: [{ name: 'other' }, record] },
      '/1',
    ),
    await mutate(
      `mutation { create${type}(${Object.entries(record)
        .map(([name, value]) => `${name}: ${JSON.stringify(value).replace(/"(\w+)":/g, '$1: ')}`)
        .join(', ')}) { id } }`,
      {},
      '',
    ),
  ];
  const [first] = answers as [Told];
  for (const each of answers) expect(each).toEqual(first);
  expect((await app.rest('GET', path)).body).toEqual(before);
  return first;
}

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;

  beforeAll(async () => {
    app = await openApp(database, { sdl, data, logic });
  });
  afterAll(() => app.close());

  const wrong: Record<string, [record: Record<string, unknown>, ...faults: string[]]> = {
    'of the record and what is nested': [{ n: 11, jobs: [{ v: 1 }, { v: -1 }] }, ' team', '/jobs/1 job'],
    'of two lists, in their order': [
      { jobs: [{ v: -1 }], notes: [{ v: -1 }] },
      '/jobs/0 job',
      '/notes/0 note',
    ],
    'of what different records have': [
      {
        jobs: [
          { v: 1, steps: [{ v: -1 }] },
          { v: -1, steps: [{ v: 1 }, { v: -1 }] },
        ],
      },
      '/jobs/0/steps/0 step',
      '/jobs/1 job',
      '/jobs/1/steps/1 step',
    ],
    'before what is taken': [{ name: 'taken', jobs: [{ v: -1 }] }, '/jobs/0 job'],
    'of links, where they are named': [{ jobs: [{ v: -1 }], tagIds: [1, 2] }, '/jobs/0 job', '/tagIds/1 tag'],
  };
  test.each(Object.entries(wrong))('%s', async (_, [record, ...faults]) => {
    expect(await told(app, 'Team', record)).toEqual(['VALIDATION_FAILED', ...faults]);
  });

  test('a hundred of them, the first of the input', async () => {
    const jobs = Array.from({ length: 80 }, () => ({ v: -1, steps: [{ v: -1 }] }));
    const [code, ...faults] = await told(app, 'Team', { jobs });
    const all = jobs.flatMap((_, at) => [`/jobs/${at} job`, `/jobs/${at}/steps/0 step`]);
    expect([code, ...faults]).toEqual(['VALIDATION_FAILED', ...all.slice(0, 100)]);
  });

  test('what asks for the outer record is asked when that is there', async () => {
    const { status, body } = await app.rest('POST', '/teams?include=notes', { notes: [{ v: 7 }] });
    expect([status, body.notes.map(({ v }: any) => v)]).toEqual([201, [7]]);
    expect(toldOf((await app.rest('POST', '/notes', { v: 7 })).body)).toEqual([
      'VALIDATION_FAILED',
      '# lone',
    ]);
  });

  test('what a function may still change is held when it has', async () => {
    const { status, body } = await app.rest('POST', '/squads?include=chores', {
      name: 'later',
      chores: [{ v: -1 }],
    });
    expect([status, body.chores[0].v]).toEqual([201, 1]);
  });

  test('what functions make of what is nested is held, before a function of the outer record is asked', async () => {
    asked.length = 0;
    expect(await told(app, 'Squad', { name: 'taken', tasks: [{ v: 1 }, { v: 10 }] })).toEqual([
      'VALIDATION_FAILED',
      '/tasks/1 task',
    ]);
    expect(asked).toEqual([]);
    const { status, body } = await app.rest('POST', '/squads?include=tasks', {
      name: 's',
      tasks: [{ v: 9 }],
    });
    expect([status, body.n, body.tasks[0].size]).toEqual([201, 5, 90]);
    expect(asked).toEqual(['s']);
  });
});
