/** How PostgreSQL keeps the words of records: as a tsvector in each of them, under a GIN index. */

import type { Searched, SearchedWord } from '../../query/filter.ts';
import { cut, inField } from '../../query/words.ts';
import type { Column, Resource } from '../../schema/model.ts';
import { type Scalar, scalars, WordList } from '../../schema/scalars.ts';
import { deadlineExceeded } from '../faults.ts';
import { quote, type Words } from '../sql/dialect.ts';
import type { Row, Statement, Table } from '../statements.ts';
import type { Deadline } from '../storage.ts';
import {
  isSearched,
  lengthsOf,
  longName,
  splitBy,
  splittingRecord,
  wordsName,
  wordsOfRecord,
} from '../words.ts';

/** A tsvector holds 2^20 - 1 bytes of words, and says so only where it is read from text. */
const MOST_BYTES = 1_000_000;
/**
 * Records with more have the beginnings of their words instead, behind a mark that is no field's: of so many characters,
 * with four bytes each, all that a record can have fit. The whole words are then beside them, for a second look.
 */
const LONGEST_BEGINNING = 12;
const MARK = 'z';

const kept = new WeakMap<Resource, readonly [Column, Column]>();
const none: readonly Column[] = [];

export function wordColumns(resource: Resource): readonly [Column, Column] {
  let columns = kept.get(resource);
  if (!columns) {
    const name = wordsName(resource);
    const column = (name: string, type: Scalar): Column => ({
      ...resource.version,
      name,
      stored: name,
      type,
      required: false,
    });
    columns = [column(name, WordList), column(longName(name), scalars.get('String') as Scalar)];
    kept.set(resource, columns);
  }
  return columns;
}

export function createWords(resource: Resource): string[] {
  const [words, long] = wordColumns(resource).map(({ stored }) => quote(stored));
  return [
    `ALTER TABLE ${quote(resource.table)} ADD COLUMN ${words} tsvector, ADD COLUMN ${long} text COLLATE "C"`,
  ];
}

export function dropWords(table: string, words: string): string[] {
  const [name, long] = [words, longName(words)].map(quote);
  return [`ALTER TABLE ${quote(table)} DROP COLUMN ${name}, DROP COLUMN ${long}`];
}

export const words: Words = {
  match: (searched, record, given) => {
    const [kept, long] = wordColumns(searched.resource).map(({ stored }) => `${record}.${quote(stored)}`);
    const texts = searched.words.map(({ text, begins }) => (begins ? text : `${text} `));
    const fields = searched.resource.searched.map((_, field) => inField('', field));
    // Written out: a subquery about the row itself is nothing that a server with tables spread over machines takes.
    const isIn = (word: string) =>
      fields.map((field) => `strpos(${long}, ' ${field}' || ${word}) > 0`).join(' OR ');
    const look = texts.map((text) => `(${isIn(`$${given(text)}::text`)})`).join(' AND ');
    // Read once: beside a row it would be read for each.
    return `(${kept} @@ (SELECT $${given(textOf(searched))}::text::tsquery) AND (${long} IS NULL OR (${look})))`;
  },
  isIn: ({ resource }, word, field, record, given) => {
    const [kept, long] = wordColumns(resource).map(({ stored }) => `${record}.${quote(stored)}`);
    const text = ` ${inField(word.text, field)}${word.begins ? '' : ' '}`;
    return `(${kept} @@ $${given(termOf(word, field))}::text::tsquery OR strpos(${long}, $${given(text)}::text) > 0)`;
  },
  isGuessed: true,
  kept: {
    columns: (resource) => (isSearched(resource) ? wordColumns(resource) : none),
    of: (resource, record) => {
      const [words, long] = wordColumns(resource);
      const found = ahead.get(record) ?? wordsOfRecord(resource, record);
      ahead.delete(record);
      const text = found.join(' ');
      // Spaces are not kept.
      if (Buffer.byteLength(text) - found.length < MOST_BYTES)
        return { [words.name]: text, [long.name]: null };
      const beginnings = new Set(found.map((each) => MARK + cut(each, LONGEST_BEGINNING + 1)));
      return { [words.name]: [...beginnings].join(' '), [long.name]: ` ${text} ` };
    },
  },
};

/** Words that were split before the statement is written which they go into. */
const ahead = new WeakMap<Row, string[]>();

/** Shorter texts are split in a few milliseconds. */
const LONG = 20_000;

/** Splits long texts while others have their turns in between. */
export async function splitAhead(statements: readonly Statement[], deadline: Deadline): Promise<void> {
  for (const statement of statements) {
    const rows = splitBy(statement);
    const resource = (statement as { resource?: Table }).resource as Resource;
    if (rows.length === 0 || lengthsOf(resource, rows) < LONG) continue;
    for (const row of rows) {
      const split = splittingRecord(resource, row);
      for (let step = split.next(); ; step = split.next()) {
        await new Promise(setImmediate);
        if (performance.now() > deadline) throw deadlineExceeded();
        if (!step.done) continue;
        ahead.set(row, step.value);
        break;
      }
    }
  }
}

function textOf({ resource, words }: Searched): string {
  const anywhere = (word: SearchedWord) =>
    resource.searched.flatMap((_, field) => [termOf(word, field), beginningOf(word, field)]).join(' | ');
  return words.map((word) => `(${anywhere(word)})`).join(' & ');
}

/** Words have nothing in them that means something here. */
function termOf({ text, begins }: SearchedWord, field: number): string {
  return `${inField(text, field)}${begins ? ':*' : ''}`;
}

function beginningOf({ text, begins }: SearchedWord, field: number): string {
  const beginning = cut(text, LONGEST_BEGINNING);
  return `${MARK}${inField(beginning, field)}${begins && beginning === text ? ':*' : ''}`;
}
