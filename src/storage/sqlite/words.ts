/** How SQLite keeps the words of records: in an FTS5 table beside theirs, which triggers write along with each record. */

import type { Database } from 'bun:sqlite';
import type { Searched, SearchedWord } from '../../query/filter.ts';
import { inField, wordsOfAll } from '../../query/words.ts';
import type { Column, Resource } from '../../schema/model.ts';
import { quote, type Words } from '../sql/dialect.ts';
import type { Statement, Table } from '../statements.ts';
import { WORDS, wordsName } from '../words.ts';

const SPLIT = '_duet_words';

/** Before every other name of Duet's own here, `_search_`. */
const OWN = '_duet';

const AUTOMERGE = 'automerge';
/** How many segments of a level FTS5 merges into one by itself, and from how many on all of them at once, whoever waits. */
const SEGMENTS = 4;
const MOST_SEGMENTS = 16;
/** So many are left at the most where there is nothing to merge: fewer than it merges, on each of a few levels. */
const SETTLED = 2 * MOST_SEGMENTS;
/** More than one write comes to, and half of those that FTS5 can count. */
export const ANY_SEGMENTS = 1_000;
/** In some hundredths of a second. */
const PAGES_MERGED = 250;

/** What the names of these tables begin with. */
export const OF_WORDS = OWN + WORDS;

/** Whoever writes records needs it: the triggers ask for it. */
export function splitsWords(database: Database): void {
  database.function(SPLIT, (texts) => wordsOfAll(JSON.parse(String(texts))).join(' '));
}

function tableOf(resource: Resource): string {
  return `${OWN}${wordsName(resource)}_${resource.table}`;
}

/** The resource whose words a statement may change. */
export function changesWords(statement: Statement): Resource | undefined {
  const changed = changedBy(statement);
  if (!changed) return undefined;
  const resource = (statement as { readonly resource: Table }).resource as Resource;
  return resource.searched?.some((each) => changed.some(({ name }) => name === each.name))
    ? resource
    : undefined;
}

function changedBy(statement: Statement): readonly Column[] | undefined {
  switch (statement.do) {
    case 'insert':
    case 'insert all':
    case 'delete':
      return statement.resource.columns;
    case 'update': {
      const { resource, set, own = [] } = statement;
      return [...resource.columns.filter(({ name }) => Object.hasOwn(set, name)), ...own];
    }
    case 'update all':
      return statement.columns;
    default:
      return undefined;
  }
}

/**
 * For each record whose words are removed, and each page that is written, FTS5 would merge a page of each level of its index, and
 * all of it where a tenth is outdated: for seconds with thousands, while everybody waits. From `putOff` on it merges nothing, for
 * whoever writes; each `little` merges some of what is left, and `inTime` is for when nothing is. `segments` tells how many there are.
 */
export function mergingOf(
  resource: Resource,
): Record<'putOff' | 'little' | 'inTime', string[]> & { readonly segments: string } {
  const words = quote(tableOf(resource));
  const set = (what: string, value: number) =>
    `INSERT INTO ${words} (${words}, rank) VALUES ('${what}', ${value})`;
  const segments = `${segmentsOf(resource)} SELECT COUNT("_segment") AS "segments", total_changes() AS "changes" FROM "_segments"`;
  return {
    putOff: [set(AUTOMERGE, 0), set('crisismerge', ANY_SEGMENTS)],
    segments,
    little: [segments, set('merge', PAGES_MERGED), segments],
    // Others may have left more meanwhile.
    inTime: [
      ...[
        [AUTOMERGE, SEGMENTS],
        ['crisismerge', MOST_SEGMENTS],
      ].map(
        ([what, value]) =>
          `INSERT INTO ${words} (${words}, rank) ${segmentsOf(resource)} SELECT '${what}', ${value} WHERE (SELECT COUNT("_segment") FROM "_segments") < ${SETTLED}`,
      ),
      isOff(resource),
    ],
  };
}

/** Of which a server that is gone has left something to merge. */
export function unmergedIn(database: Database, resources: readonly Resource[]): Resource[] {
  return resources.filter((resource) => {
    const settings = `${tableOf(resource)}_config`;
    const [there] = database.query(`SELECT 1 FROM sqlite_schema WHERE name = ?`).values(settings);
    return there !== undefined && database.query(isOff(resource)).values().length > 0;
  });
}

/** Answers with a row where nothing is merged by whoever writes. */
function isOff(resource: Resource): string {
  return `SELECT 1 AS "off" FROM ${quote(`${tableOf(resource)}_config`)} WHERE k = '${AUTOMERGE}' AND v = 0`;
}

/** The tables of records and, as if these were columns of them, what keeps their words. */
export const NAMES = `SELECT substr("name", ${OF_WORDS.length + 8 + 2}) AS "table", substr("name", ${OWN.length + 1}, ${WORDS.length + 8}) AS "column", 'words', 0, 1, 0, -1 FROM "sqlite_schema" WHERE "type" = 'table' AND substr("name", 1, ${OF_WORDS.length}) = '${OF_WORDS}' AND "sql" LIKE 'CREATE VIRTUAL TABLE %'`;

/** A record of a serial key has the key as its rowid; of others, a table has a number for each. */
function isCounted({ key }: Resource): boolean {
  return key.origin.by === 'serial';
}

/** Without content, since the texts are in the records; and without places, as nobody asks for words side by side. */
export function createWords(resource: Resource): string[] {
  const { table, key, searched } = resource;
  const words = quote(tableOf(resource));
  const keys = quote(`${tableOf(resource)}_keys`);
  const record = quote(table);
  const name = quote(key.stored);
  const texts = searched.map(({ stored }) => `new.${quote(stored)}`).join(', ');
  const id = (row: 'new' | 'old') =>
    isCounted(resource) ? `${row}.${name}` : `(SELECT "id" FROM ${keys} WHERE "key" = ${row}.${name})`;
  const remove = `DELETE FROM ${words} WHERE rowid = ${id('old')};`;
  const insert = `INSERT INTO ${words} (rowid, "words") VALUES (${id('new')}, ${SPLIT}(json_array(${texts})));`;
  const trigger = (when: string, does: string) =>
    `CREATE TRIGGER ${quote(`${tableOf(resource)}_${when.split(' ')[0]}`)} AFTER ${when} ON ${record} BEGIN ${does} END`;
  const changed = searched.map(({ stored }) => quote(stored)).join(', ');
  const own = isCounted(resource)
    ? { before: [], insert: '', remove: '' }
    : {
        before: [
          `CREATE TABLE ${keys} ("id" INTEGER PRIMARY KEY, "key" TEXT NOT NULL UNIQUE) STRICT`,
          `INSERT INTO ${keys} ("key") SELECT ${name} FROM ${record}`,
        ],
        insert: `INSERT INTO ${keys} ("key") VALUES (new.${name}); `,
        remove: ` DELETE FROM ${keys} WHERE "key" = old.${name};`,
      };
  return [
    `CREATE VIRTUAL TABLE ${words} USING fts5("words", content='', contentless_delete=1, detail=column, tokenize='ascii')`,
    ...own.before,
    trigger('insert', own.insert + insert),
    trigger(`update OF ${changed}`, `${remove} ${insert}`),
    trigger('delete', remove + own.remove),
  ];
}

export function dropWords(table: string, words: string): string[] {
  const name = `${OWN}${words}_${table}`;
  return [
    ...['insert', 'update', 'delete'].map((when) => `DROP TRIGGER IF EXISTS ${quote(`${name}_${when}`)}`),
    `DROP TABLE IF EXISTS ${quote(`${name}_keys`)}`,
    `DROP TABLE ${quote(name)}`,
  ];
}

/** The first words of the pages of the index, in each of its segments. */
export function pagesTable(resource: Resource): string {
  return `${tableOf(resource)}_idx`;
}

/** The segments of the index, and null behind the last. */
function segmentsOf(resource: Resource): string {
  const pages = quote(pagesTable(resource));
  const next = `SELECT (SELECT MIN("segid") FROM ${pages} WHERE "segid" > "_segment") FROM "_segments" WHERE "_segment" IS NOT NULL`;
  return `WITH RECURSIVE "_segments" ("_segment") AS (SELECT MIN("segid") FROM ${pages} UNION ALL ${next})`;
}

/** FTS5 keeps them behind a sign for its main index. */
const MAIN = '0';

/**
 * How often a segment of the index is looked into for one of these words, and on how many pages they are, the beginnings of words
 * apart: they are read to the end, whatever is then found. Those of a word are between the last that begins before it and the
 * first that begins after.
 */
export function pagesOf(
  database: Database,
  { resource, words }: Searched,
): Record<'seeks' | 'whole' | 'begun', number> {
  const pages = quote(pagesTable(resource));
  const ranges = words.flatMap(({ text, begins }) =>
    resource.searched.map((_, field) => {
      const from = Buffer.from(MAIN + inField(text, field));
      return [begins, from.toString('hex'), `${from.toString('hex')}${begins ? 'ff' : '00'}`];
    }),
  );
  const page = (which: string) => `SELECT "pgno" / 2 FROM ${pages} WHERE "segid" = "_segment" AND ${which}`;
  const after = `COALESCE((${page('"term" > unhex(value ->> 2) ORDER BY "term" LIMIT 1')}), (${page('TRUE ORDER BY "term" DESC LIMIT 1')}))`;
  const before = `COALESCE((${page('"term" <= unhex(value ->> 1) ORDER BY "term" DESC LIMIT 1')}), 1)`;
  const sql = `${segmentsOf(resource)} SELECT value ->> 0, SUM(max(0, ${after} - ${before})), COUNT(*) FROM json_each(?1) CROSS JOIN "_segments" WHERE "_segment" IS NOT NULL GROUP BY 1`;
  const found = database.query(sql).values(JSON.stringify(ranges)) as [number, number, number][];
  const sum = (of: number[]) => of.reduce((all, each) => all + each, 0);
  const pagesWhere = (is: number) => sum(found.filter(([begins]) => begins === is).map(([, pages]) => pages));
  return { seeks: sum(found.map(([, , seeks]) => seeks)), whole: pagesWhere(0), begun: pagesWhere(1) };
}

export const words: Words = {
  match: (searched, record, given) => among(searched.resource, record, given(textOf(searched))),
  isIn: (searched, word, field, record, given) => {
    const others = searched.words.filter((each) => each !== word);
    const text = [termOf(word, field), ...others.map((each) => anywhere(searched, each))].join(' AND ');
    return among(searched.resource, record, given(text));
  },
  // Without it, the inner SELECT would become one with the outer.
  once: ' LIMIT -1',
  stale: (resource, list) => {
    const counts = `${quote(`${tableOf(resource)}_docsize`)} AS "_kept"`;
    const keys = `${quote(`${tableOf(resource)}_keys`)} AS "_keys"`;
    const known = isCounted(resource)
      ? `SELECT 1 FROM ${counts} WHERE "_kept"."id" = "_asked".value`
      : `SELECT 1 FROM ${keys} JOIN ${counts} ON "_kept"."id" = "_keys"."id" WHERE "_keys"."key" = "_asked".value`;
    return `SELECT "_asked".value AS ${quote(resource.key.name)} FROM json_each(${list}) AS "_asked" WHERE NOT EXISTS (${known})`;
  },
  mend: (resource, list) => {
    const { key, searched } = resource;
    const record = quote(resource.table);
    const name = `${record}.${quote(key.stored)}`;
    const texts = searched.map(({ stored }) => `${record}.${quote(stored)}`).join(', ');
    const keys = quote(`${tableOf(resource)}_keys`);
    const [id, from] = isCounted(resource)
      ? [name, record]
      : [`${keys}."id"`, `${record} JOIN ${keys} ON ${keys}."key" = ${name}`];
    return `INSERT INTO ${quote(tableOf(resource))} (rowid, "words") SELECT ${id}, ${SPLIT}(json_array(${texts})) FROM ${from} WHERE ${name} IN (SELECT value FROM json_each(${list}))`;
  },
  inKeyOrder: (searched, given) => {
    const { resource } = searched;
    if (!isCounted(resource)) return undefined;
    const words = quote(tableOf(resource));
    const record = quote(resource.table);
    // With one column, under a name that no table has.
    const found = `SELECT rowid AS "_found" FROM ${words} WHERE ${words} MATCH ?${given(textOf(searched))}`;
    return {
      from: `(${found}) CROSS JOIN ${record} ON ${record}.${quote(resource.key.stored)} = "_found"`,
      key: '"_found"',
    };
  },
};

function among(resource: Resource, record: string, position: number): string {
  const words = quote(tableOf(resource));
  const keys = quote(`${tableOf(resource)}_keys`);
  const found = isCounted(resource)
    ? `SELECT rowid FROM ${words}`
    : `SELECT ${keys}."key" FROM ${words} CROSS JOIN ${keys} ON ${keys}."id" = ${words}.rowid`;
  return `${record}.${quote(resource.key.stored)} IN (${found} WHERE ${words} MATCH ?${position})`;
}

function textOf(searched: Searched): string {
  return searched.words.map((word) => anywhere(searched, word)).join(' AND ');
}

function anywhere({ resource }: Searched, word: SearchedWord): string {
  return `(${resource.searched.map((_, field) => termOf(word, field)).join(' OR ')})`;
}

/** Words have neither quotes nor spaces. */
function termOf({ text, begins }: SearchedWord, field: number): string {
  return `"${inField(text, field)}"${begins ? ' *' : ''}`;
}
