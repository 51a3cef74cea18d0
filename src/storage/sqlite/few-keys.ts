/** Lists of a few keys as parameters of their own: SQLite looks their rows up in nine tenths of the time that a list in one text takes. */

import { codecOf } from '../sql/codec.ts';
import type { Template } from '../sql/compile.ts';
import type { Compiled } from '../sql/dialect.ts';
import { type Filled, PLACEHOLDER } from '../statements.ts';
import { codecs } from './codecs.ts';
import { dialect } from './dialect.ts';

/** Beyond that there is little to gain. */
const MOST = 128;
/** There is a statement for every eighth number of keys; the last of them stands in for those that are missing. */
const STEP = 8;
/** A longer statement has a filter that takes most of its time; it would be kept for each number of keys. */
const LONGEST = 4000;

/** A statement around its list: its text for each number of keys, made when it is asked for. */
interface Around {
  readonly before: string;
  readonly after: string;
  readonly texts: Map<number, string>;
}

/** Null where the list stands elsewhere than in a condition. */
const known = new WeakMap<Template, Around | null>();

/** Undefined where it asks for no list, or for a long one. `template`: what the statement is made of. */
export function withFewKeys(
  { select, value }: Filled,
  { sql, parameters }: Compiled,
  template: Template,
): Pick<Compiled, 'sql' | 'parameters'> | undefined {
  const { per } = select;
  const at = template.open.openAt;
  if (per?.values !== PLACEHOLDER || at === undefined) return undefined;
  const keys = value as readonly unknown[];
  if (keys.length === 0 || keys.length > MOST || codecOf(codecs, per.column).encode) return undefined;
  let around = known.get(template);
  if (around === undefined) {
    around = aroundList(sql, dialect.listed(at + 1, per.column));
    known.set(template, around);
  }
  if (!around) return undefined;
  const count = Math.ceil(keys.length / STEP) * STEP;
  let text = around.texts.get(count);
  if (text === undefined) {
    const marks = Array.from(
      { length: count },
      (_, index) => `?${index ? parameters.length + index : at + 1}`,
    );
    text = `${around.before} IN (${marks.join(', ')})${around.after}`;
    around.texts.set(count, text);
  }
  const given = parameters.slice();
  given[at] = keys[0];
  for (let index = 1; index < count; index++) given.push(keys[Math.min(index, keys.length - 1)]);
  return { sql: text, parameters: given };
}

function aroundList(sql: string, list: string): Around | null {
  if (sql.length > LONGEST) return null;
  const [before, after, ...others] = sql.split(dialect.among('', list));
  if (before === undefined || after === undefined || others.length > 0) return null;
  // Elsewhere it is still the text that it was.
  const isElsewhere = (before + after).includes(dialect.items(list));
  return isElsewhere ? null : { before, after, texts: new Map() };
}
