/** Every read of the matrix for one caller: what is asked at both doors, and what must come of it. */

import { alike, type Client, capitalised, type Door, literal, pathOf } from './access-doors.ts';
import { type Eyes, type Name, type Row, shapes } from './access-world.ts';

export interface Read {
  readonly what: string;
  readonly expected: unknown;
  readonly ask: (client: Client, door: Door) => Promise<unknown>;
}

export function* reads(eyes: Eyes, name: Name): Generator<Read> {
  yield* whole(eyes, name);
  yield* pages(eyes, name);
  for (const column of shapes[name].columns) {
    yield* filters(eyes, name, column);
    yield sorted(eyes, name, column);
    yield grouped(eyes, name, column);
    yield ranked(eyes, name, column);
    yield* kept(eyes, name, column);
    yield* owned(eyes, name, column);
  }
  yield* related(eyes, name);
}

const keysOf = (name: Name, rows: readonly Row[]) =>
  alike(rows.map((row) => ({ [shapes[name].key]: row[shapes[name].key] })));

function* whole(eyes: Eyes, name: Name): Generator<Read> {
  const { columns, references, lists, key, type } = shapes[name];
  const could = eyes.couldEver(name, 'READ');
  const shown = eyes.visible(name).map((row) => eyes.show(name, row));
  const all = columns.join(' ');
  yield {
    what: `list ${name}`,
    expected: could ? alike(shown) : 'denied',
    ask: (client, door) => list(client, door, name, '', `{ ${name} { ${all} } }`),
  };
  const relations = [
    ...Object.values(references),
    ...Object.entries(lists).map(([field, [target]]) => [field, target] as const),
  ];
  const include = relations.map(([field]) => field).join();
  const nested = relations.map(([field, target]) => `${field} { ${shapes[target].columns.join(' ')} }`);
  if (relations.length > 0)
    yield {
      what: `list ${name} with ${include}`,
      expected: could
        ? alike(
            eyes.visible(name).map((row) => ({ ...eyes.show(name, row), ...eyes.showRelated(name, row) })),
          )
        : 'denied',
      ask: (client, door) =>
        list(client, door, name, `include=${include}`, `{ ${name} { ${all} ${nested.join(' ')} } }`),
    };
  for (const row of [...eyes.world[name], { [key]: key === 'id' ? 999 : '<no code>' }]) {
    const found = eyes.find(name, row[key]);
    const one = type[0]?.toLowerCase() + type.slice(1);
    yield {
      what: `get ${name} ${row[key]}`,
      expected: could ? (found ? alike(eyes.show(name, found)) : null) : 'denied',
      ask: async (client, door) => {
        if (door === 'graphql') {
          const data = await client.graphql(`{ ${one}(${key}: ${literal(key, row[key])}) { ${all} } }`);
          return data[one] === undefined ? data : data[one];
        }
        const { outcome } = await client.rest('GET', pathOf(name, row[key]));
        return outcome === 'NOT_FOUND' ? null : outcome;
      },
    };
  }
  for (const type of ['application/x-ndjson', 'text/csv'])
    yield {
      what: `export ${name} as ${type}`,
      expected: could ? alike(shown.map((row) => row[key])) : 'denied',
      ask: async (client, door) => {
        // Files are REST's alone.
        if (door === 'graphql') return could ? alike(shown.map((row) => row[key])) : 'denied';
        const text = await client.file(`/${name}`, type);
        if (text === undefined) return 'denied';
        const lines = text.trim().split(/\r?\n/).filter(Boolean);
        if (type === 'text/csv') return lines.slice(1).map((line) => plain(line.split(',')[0] ?? ''));
        return lines.map((line) => JSON.parse(line)[key]);
      },
    };
}

function plain(cell: string): unknown {
  return /^\d+$/.test(cell) ? Number(cell) : cell;
}

/** One by one, by cursors; and how many there are. */
function* pages(eyes: Eyes, name: Name): Generator<Read> {
  const { key } = shapes[name];
  const seen = eyes.visible(name);
  yield {
    what: `pages of ${name}`,
    expected: eyes.couldEver(name, 'READ') ? [seen.length, ...keysOf(name, seen)] : 'denied',
    ask: async (client, door) => {
      const found: unknown[] = [];
      let total: unknown;
      let after: string | undefined;
      for (let page = 0; page < 20; page++) {
        if (door === 'rest') {
          const from = after === undefined ? '' : `&after=${after}`;
          const path = `/${name}?limit=1&count=true&fields=${key}${from}`;
          const { outcome, headers } = await client.rest('GET', path);
          if (!Array.isArray(outcome)) return outcome;
          found.push(...outcome);
          total = Number(headers.get('X-Total-Count'));
          after = /after=([^&>]+)[^>]*>; rel="next"/.exec(headers.get('Link') ?? '')?.[1];
        } else {
          const from = after === undefined ? '' : `, after: ${JSON.stringify(after)}`;
          const data = await client.graphql(
            `{ ${name}Connection(first: 1${from}) { totalCount edges { node { ${key} } } pageInfo { hasNextPage endCursor } } }`,
          );
          if (typeof data === 'string') return data;
          const { totalCount, edges, pageInfo } = data[`${name}Connection`];
          found.push(...edges.map(({ node }: { node: unknown }) => node));
          total = totalCount;
          after = pageInfo.hasNextPage ? pageInfo.endCursor : undefined;
        }
        if (after === undefined) return [total, ...found];
      }
      return 'no end of pages';
    },
  };
}

/** Hidden values are asked for by name: nobody may learn that a guess was right. */
function* filters(eyes: Eyes, name: Name, column: string): Generator<Read> {
  const usable = eyes.couldEver(name, 'READ') && eyes.usable(name, column);
  const values = new Set(eyes.world[name].map((row) => row[column]));
  const seenIn = (row: Row) => eyes.show(name, row, [column])[column];
  const conditions = [...values].flatMap((value): [object, (row: Row) => boolean][] =>
    value === null
      ? [[{ isNull: true }, (row) => seenIn(row) === null]]
      : [
          [{ eq: value }, (row) => seenIn(row) === value],
          [{ ne: value }, (row) => seenIn(row) !== value],
          [{ in: [value] }, (row) => seenIn(row) === value],
        ],
  );
  for (const [condition, matches] of conditions)
    yield filtered(name, { [column]: condition }, usable ? eyes.visible(name).filter(matches) : undefined);
}

function filtered(name: Name, where: object, expected: readonly Row[] | undefined): Read {
  const { key } = shapes[name];
  return {
    what: `${name} where ${JSON.stringify(where)}`,
    expected: expected ? keysOf(name, expected) : 'denied',
    ask: (client, door) =>
      list(
        client,
        door,
        name,
        `fields=${key}&where=${encodeURIComponent(JSON.stringify(where))}`,
        `{ ${name}(where: ${literal('', where)}) { ${key} } }`,
      ),
  };
}

function sorted(eyes: Eyes, name: Name, column: string): Read {
  const { key } = shapes[name];
  const fine = comparable(eyes, name, column);
  const rows = eyes
    .visible(name)
    .toSorted((a, b) => compare(a[column], b[column]) || compare(a[key], b[key]));
  return {
    what: `${name} by ${column}`,
    expected: fine ? keysOf(name, rows) : 'denied',
    ask: (client, door) =>
      list(
        client,
        door,
        name,
        `fields=${key}&sort=${column}`,
        `{ ${name}(orderBy: [{ ${column}: ASC }]) { ${key} } }`,
      ),
  };
}

/** What is hidden is sorted as if there were none. */
function sortedThrough(
  eyes: Eyes,
  name: Name,
  [column, field, target]: readonly [string, string, Name],
  inner: string,
): Read {
  const { key } = shapes[name];
  const fine = eyes.couldEver(name, 'READ') && eyes.usable(name, column) && comparable(eyes, target, inner);
  const valueIn = (row: Row) => eyes.find(target, row[column])?.[inner] ?? null;
  const rows = eyes
    .visible(name)
    .toSorted((a, b) => compare(valueIn(b), valueIn(a)) || compare(a[key], b[key]));
  return {
    what: `${name} by ${field}.${inner}, descending`,
    expected: fine ? keysOf(name, rows) : 'denied',
    ask: (client, door) =>
      list(
        client,
        door,
        name,
        `fields=${key}&sort=-${field}.${inner}`,
        `{ ${name}(orderBy: [{ ${field}: { ${inner}: DESC } }]) { ${key} } }`,
      ),
  };
}

function grouped(eyes: Eyes, name: Name, column: string): Read {
  const fine = comparable(eyes, name, column);
  const counts = new Map<unknown, number>();
  for (const row of eyes.visible(name)) counts.set(row[column], (counts.get(row[column]) ?? 0) + 1);
  const groups = [...counts].toSorted(([a], [b]) => compare(a, b));
  return {
    what: `${name} grouped by ${column}`,
    expected: fine ? alike(groups.map(([value, count]) => ({ by: { [column]: value }, count }))) : 'denied',
    ask: (client, door) =>
      list(
        client,
        door,
        name,
        `groupBy=${column}&aggregate=count`,
        `{ ${name}Aggregate(groupBy: [${column}]) { by { ${column} } count } }`,
      ),
  };
}

/** Groups of one record each: their order is that of a value, which only those may have who may read it. */
function ranked(eyes: Eyes, name: Name, column: string): Read {
  const { key } = shapes[name];
  const fine = comparable(eyes, name, key) && comparable(eyes, name, column);
  const rows = eyes
    .visible(name)
    .toSorted((a, b) => compare(b[column], a[column]) || compare(a[key], b[key]))
    .slice(0, 3);
  return {
    what: `${name} ranked by ${column}`,
    expected: fine ? alike(rows.map((row) => ({ by: { [key]: row[key] } }))) : 'denied',
    ask: (client, door) =>
      list(
        client,
        door,
        name,
        `groupBy=${key}&sort=-max(${column})&limit=3`,
        `{ ${name}Aggregate(groupBy: [${key}], orderBy: [{ max: { ${column}: DESC } }], first: 3) { by { ${key} } } }`,
      ),
  };
}

/** Hidden values are asked for by name here too. */
function* kept(eyes: Eyes, name: Name, column: string): Generator<Read> {
  const { key } = shapes[name];
  const fine = comparable(eyes, name, key) && comparable(eyes, name, column);
  for (const value of new Set(eyes.world[name].map((row) => row[column]))) {
    if (value === null) continue;
    const rows = eyes.visible(name).filter((row) => row[column] === value);
    const having = { min: { [column]: { eq: value } } };
    yield {
      what: `groups of ${name} having ${JSON.stringify(having)}`,
      expected: fine
        ? alike(
            rows
              .toSorted((a, b) => compare(a[key], b[key]))
              .map((row) => ({ by: { [key]: row[key] }, count: 1 })),
          )
        : 'denied',
      ask: (client, door) =>
        list(
          client,
          door,
          name,
          `groupBy=${key}&aggregate=count&having=${encodeURIComponent(JSON.stringify(having))}`,
          `{ ${name}Aggregate(groupBy: [${key}], having: ${literal('', having)}) { by { ${key} } count } }`,
        ),
    };
  }
}

/** The record that a group is of is shown as it is elsewhere. */
function* owned(eyes: Eyes, name: Name, column: string): Generator<Read> {
  const [field, target] = shapes[name].references[column] ?? [];
  if (field === undefined || target === undefined) return;
  const keys = [...new Set(eyes.visible(name).map((row) => row[column]))].toSorted(compare);
  const shown = (key: unknown) => {
    const found = eyes.find(target, key);
    return found ? eyes.show(target, found) : null;
  };
  yield {
    what: `${field} of groups of ${name}`,
    expected: comparable(eyes, name, column)
      ? alike(keys.map((key) => ({ by: { [column]: key, [field]: shown(key) } })))
      : 'denied',
    ask: (client, door) =>
      list(
        client,
        door,
        name,
        `groupBy=${column}&include=${field}`,
        `{ ${name}Aggregate(groupBy: [${column}]) { by { ${column} ${field} { ${shapes[target].columns.join(' ')} } } } }`,
      ),
  };
}

function comparable(eyes: Eyes, name: Name, column: string): boolean {
  const [, target] = shapes[name].references[column] ?? [];
  return eyes.couldEver(name, 'READ') && eyes.usable(name, column) && (!target || eyes.seesAll(target));
}

function compare(a: unknown, b: unknown): number {
  if (a === b) return 0;
  if (a === null || b === null) return a === null ? -1 : 1;
  return (a as string) < (b as string) ? -1 : 1;
}

/** Through relations, what is hidden does not exist either. */
function* related(eyes: Eyes, name: Name): Generator<Read> {
  const { references, lists, key } = shapes[name];
  const could = eyes.couldEver(name, 'READ');
  for (const [column, [field, target]] of Object.entries(references))
    for (const inner of shapes[target].columns)
      for (const value of new Set(eyes.world[target].slice(0, 2).map((row) => row[inner]))) {
        if (value === null) continue;
        const fine = could && eyes.usable(name, column) && eyes.usable(target, inner);
        const matches = (row: Row) => {
          const found = eyes.find(target, row[column]);
          return found !== undefined && eyes.show(target, found, [inner])[inner] === value;
        };
        const where = { [field]: { [inner]: { eq: value } } };
        yield filtered(name, where, fine ? eyes.visible(name).filter(matches) : undefined);
      }
  for (const [column, [field, target]] of Object.entries(references))
    for (const inner of shapes[target].columns)
      yield sortedThrough(eyes, name, [column, field, target], inner);
  for (const [list, [target, column]] of Object.entries(lists))
    for (const inner of [undefined, ...shapes[target].columns])
      for (const quantifier of ['some', 'none']) {
        const value = inner === undefined ? undefined : eyes.world[target][1]?.[inner];
        if (value === null) continue;
        const fine = could && eyes.usable(name, list) && (inner === undefined || eyes.usable(target, inner));
        const matches = (row: Row) =>
          eyes
            .members(target, column, row[key])
            .some((each) => inner === undefined || eyes.show(target, each, [inner])[inner] === value) ===
          (quantifier === 'some');
        const where = { [list]: { [quantifier]: inner === undefined ? {} : { [inner]: { eq: value } } } };
        yield filtered(name, where, fine ? eyes.visible(name).filter(matches) : undefined);
      }
}

async function list(
  client: Client,
  door: Door,
  name: Name,
  query: string,
  document: string,
): Promise<unknown> {
  if (door === 'rest') return (await client.rest('GET', `/${name}?${query}`)).outcome;
  const data = await client.graphql(document);
  if (typeof data === 'string') return data;
  return data[name] ?? data[`${name}Aggregate`] ?? data[capitalised(name)];
}
