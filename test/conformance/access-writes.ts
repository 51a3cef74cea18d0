/** Every write of the matrix for one caller: what is tried, what must come of it, and what the tables hold then. */

import { alike } from './access-doors.ts';
import { Eyes, type Name, type Row, shapes, type Who, type World } from './access-world.ts';

const fresh: Readonly<Record<Name, Row>> = {
  people: { public: false, bio: null, email: null, salary: null, rank: '1', mentorId: null },
  posts: { slug: null, published: false, authorId: null, note: null, reviewerId: null },
  comments: { owner: null, postId: null },
  projects: { secret: null },
  badges: { personId: null, projectId: null },
  vaults: { keeperId: null },
};

/** What each resource is tried to be created with. */
export function inputs(name: Name, world: World): Row[] {
  const people = world.people.map((row) => row['id']);
  switch (name) {
    case 'people': {
      const base = { handle: 'new' };
      const more: Row[] = [
        {},
        { public: true },
        { email: 'mine' },
        { salary: '1.00' },
        { rank: '2' },
        { rank: '1' },
      ];
      const nested = ['new', 'root'].map((handle) => ({ handle, posts: [{ title: 'nested' }] }));
      return [
        ...[...more, ...people.map((mentorId) => ({ mentorId }))].map((each) => ({ ...base, ...each })),
        ...nested,
      ];
    }
    case 'posts': {
      const more = [{}, { note: 'mine' }, { reviewerId: 1 }, { published: true }];
      const nested = [true, false].map((published) => ({
        title: 'new',
        authorId: 1,
        published,
        comments: [{ body: 'nested' }],
      }));
      const each = [undefined, ...people].flatMap((authorId) =>
        more.map((rest) => ({ title: 'new', ...(authorId !== undefined && { authorId }), ...rest })),
      );
      return [...each, ...nested];
    }
    case 'comments':
      return world.posts.map((row) => ({ body: 'new', postId: row['id'] }));
    case 'projects':
      return ['red', 'blue', 'green'].map((team) => ({ code: 'new', team }));
    case 'badges':
      return [undefined, ...people].flatMap((personId) =>
        [undefined, ...world.projects.map((row) => row['code'])].map((projectId) => ({
          label: 'new',
          ...(personId !== undefined && { personId }),
          ...(projectId !== undefined && { projectId }),
        })),
      );
    case 'vaults':
      return [{ secret: 'new' }];
  }
}

/** What each field is tried to be changed to. */
export function changes(name: Name, world: World): Row[] {
  const { columns, key, references } = shapes[name];
  const given = columns.filter((column) => column !== key && column !== 'owner');
  return given.flatMap((column): Row[] => {
    const [, target] = references[column] ?? [];
    if (target) {
      const required = name === 'comments';
      const keys = world[target].map((row) => row[shapes[target].key]);
      return [...keys, ...(required ? [] : [null])].map((value) => ({ [column]: value }));
    }
    if (typeof world[name][0]?.[column] === 'boolean') return [{ [column]: true }, { [column]: false }];
    if (typeof world[name][0]?.[column] === 'number') return [{ [column]: 1 }, { [column]: 5 }];
    if (column === 'rank') return [{ rank: '1' }, { rank: '5' }];
    if (column === 'salary') return [{ salary: '1.00' }, { salary: '5.00' }];
    if (column === 'team') return [{ team: 'red' }, { team: 'green' }];
    return [{ [column]: 'changed' }];
  });
}

export interface Expected {
  readonly outcome: unknown;
  /** The table as it is afterwards, where something happens. */
  readonly after: readonly Row[] | undefined;
}

const no = (outcome: string): Expected => ({ outcome, after: undefined });

/** How the world would be seen if a table were otherwise. */
function otherwise(eyes: Eyes, tables: Partial<World>): Eyes {
  return new Eyes(eyes.who, { ...eyes.world, ...tables });
}

function referenceHidden(eyes: Eyes, name: Name, values: Row): boolean {
  return Object.entries(shapes[name].references).some(
    ([column, [, target]]) => values[column] != null && !eyes.find(target, values[column]),
  );
}

export function expectedUpdate(eyes: Eyes, name: Name, rows: readonly Row[], changed: Row): Expected {
  const { key } = shapes[name];
  if (rows.some((row) => !eyes.may('UPDATE', name, row))) return no('denied');
  const wanted = rows.map((row) => {
    const seen = eyes.show(name, row);
    // To set to null what one sees as null changes nothing.
    const real = Object.entries(changed).filter(([column, value]) => seen[column] !== value);
    return { row, real };
  });
  for (const { row, real } of wanted)
    if (real.some(([column]) => !eyes.mayField('UPDATE', name, column, row))) return no('denied');
  if (referenceHidden(eyes, name, changed)) return no('CONFLICT');
  const after = new Map(wanted.map(({ row, real }) => [row[key], { ...row, ...Object.fromEntries(real) }]));
  const table = eyes.world[name].map((row) => after.get(row[key]) ?? row);
  const then = otherwise(eyes, { [name]: table });
  for (const { row, real } of wanted) {
    const now = after.get(row[key]) ?? row;
    const fine =
      then.may('UPDATE', name, now) &&
      then.may('READ', name, now) &&
      real.every(([column]) => then.mayField('UPDATE', name, column, now));
    if (!fine) return no('denied');
  }
  return { outcome: rows.map((row) => alike(then.show(name, after.get(row[key]) ?? row))), after: table };
}

export function expectedDelete(eyes: Eyes, name: Name, rows: readonly Row[]): Expected {
  const { key } = shapes[name];
  if (rows.some((row) => !eyes.may('DELETE', name, row))) return no('denied');
  const gone = new Set(rows.map((row) => row[key]));
  const pointing = (Object.keys(shapes) as Name[]).some((other) =>
    Object.entries(shapes[other].references).some(
      ([column, [, target]]) =>
        target === name &&
        eyes.world[other].some((row) => gone.has(row[column]) && !(other === name && gone.has(row[key]))),
    ),
  );
  if (pointing) return no('CONFLICT');
  return {
    outcome: rows.map((row) => alike(eyes.show(name, row))),
    after: eyes.world[name].filter((row) => !gone.has(row[key])),
  };
}

/** The key of a new record is not known beforehand: it is left out of the outcome where the server assigns it. */
export function expectedCreate(eyes: Eyes, name: Name, input: Row): Expected {
  if (!mayGive(eyes, name, input)) return no('denied');
  const made = record(eyes.who, name, input, -1);
  if (referenceHidden(eyes, name, made)) return no('CONFLICT');
  const tables: Partial<World> = { [name]: [...eyes.world[name], made] };
  const children = Object.entries(shapes[name].lists).flatMap(([list, [target, column]]) =>
    ((input[list] ?? []) as Row[]).map((each) => {
      const child = { ...record(eyes.who, target, each, -2), [column]: -1 };
      tables[target] = [...eyes.world[target], child];
      return [target, child] as const;
    }),
  );
  const then = otherwise(eyes, tables);
  const fine = [[name, made] as const, ...children].every(
    ([of, row]) => then.may('CREATE', of, row) && then.may('READ', of, row),
  );
  return fine
    ? { outcome: withoutKey(name, alike(then.show(name, made))), after: tables[name] }
    : no('denied');
}

function mayGive(eyes: Eyes, name: Name, input: Row): boolean {
  if (!eyes.couldEver(name, 'CREATE')) return false;
  return Object.entries(input).every(([field, value]) => {
    const [target] = shapes[name].lists[field] ?? [];
    if (target) return (value as Row[]).every((each) => mayGive(eyes, target, each));
    return eyes.mayField('CREATE', name, field, {});
  });
}

function record({ claims }: Who, name: Name, input: Row, id: number): Row {
  const { key, columns } = shapes[name];
  const set = { ...(key === 'id' && { id }), ...(name === 'comments' && { owner: claims?.sub ?? null }) };
  const all: Row = { ...fresh[name], ...set, ...input };
  return Object.fromEntries(columns.map((column) => [column, all[column]]));
}

export function withoutKey(name: Name, shown: unknown): unknown {
  if (shapes[name].key !== 'id' || typeof shown !== 'object' || shown === null) return shown;
  const { id: _, ...rest } = shown as Row;
  return rest;
}
