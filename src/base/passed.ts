/** JSON that is only passed on, from the database to an answer: its text, which is neither read nor written anew. */

import { rewritten } from './rewritten.ts';

/** Stands for one in the text of an answer; nobody can send what stands for another. */
const MARK = `\0${crypto.randomUUID()}`;
const WRITTEN_MARK = JSON.stringify(MARK);
/** The same in what is kept in a database, where some may read it. */
const KEPT_MARK = `\0${crypto.randomUUID()}`;

/** The texts that have been met while an answer is written. */
let met: string[] | undefined;
/** How many have been met while something is written that is to be read again. */
let marked: number | undefined;

/** Objects take thirty times as much memory as their text, and to make them takes longer than all else that a request does. */
export class PassedJson {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** For whoever has to look inside. */
  get value(): unknown {
    return JSON.parse(this.text);
  }

  toJSON(): unknown {
    if (marked !== undefined) {
      marked++;
      return KEPT_MARK + this.text;
    }
    if (!met) return this.value;
    met.push(this.text);
    return MARK;
  }
}

/** Characters: of what is shorter it is not worth it. */
const LONG = 1_000;

/** Of long values that were read, for as long as they are there. */
const textsRead = new WeakMap<object, string>();

export function readJson(text: string): unknown {
  const value = JSON.parse(text);
  if (text.length > LONG && typeof value === 'object' && value !== null) textsRead.set(value, text);
  return value;
}

/**
 * The same value, for a function of the deployment that has read it, and may do with it as it pleases: what it makes of it in place is to be
 * counted, not what was read.
 */
export function handed(value: unknown): unknown {
  if (typeof value === 'object' && value !== null) textsRead.delete(value);
  return value;
}

/** A copy for a function that is shown what goes on to be answered: what it changes there in place is neither stored nor answered. */
export function copied(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  return JSON.parse(textsRead.get(value) ?? rewritten(value));
}

/** To be counted or weighed: to write what was read anew, only for that, would take longer than all else. */
export function measuredText(value: unknown): string {
  if (value instanceof PassedJson) return value.text;
  return (typeof value === 'object' && value !== null && textsRead.get(value)) || jsonOf(value);
}

/** Events and lines of exports end where a line does. Only others write JSON in several. */
export function passed(text: string): PassedJson {
  const hasLines = text.includes('\n') || text.includes('\r');
  return new PassedJson(hasLines ? JSON.stringify(JSON.parse(text)) : text);
}

/** As JSON.stringify does, with what is passed on as it is. */
export function jsonOf(answer: unknown): string {
  const texts: string[] = [];
  let text: string;
  met = texts;
  try {
    text = JSON.stringify(answer);
  } finally {
    met = undefined;
  }
  if (texts.length === 0) return text;
  const parts = text.split(WRITTEN_MARK);
  let whole = parts[0] ?? '';
  for (let at = 0; at < texts.length; at++) whole += (texts[at] ?? '') + (parts[at + 1] ?? '');
  return whole;
}

/** For `fromMarked`, which passes on again what is passed on: read as JSON, it would be written otherwise than it was. */
export function markedJson(answer: unknown): string {
  marked = 0;
  try {
    const json = JSON.stringify(answer);
    return `[${marked > 0 ? JSON.stringify(KEPT_MARK) : null},${json}]`;
  } finally {
    marked = undefined;
  }
}

/** Of whichever process: each has a mark of its own. */
export function fromMarked(json: string): unknown {
  const [mark, answer] = JSON.parse(json);
  return mark === null ? answer : unmarked(answer, mark);
}

function unmarked(value: unknown, mark: string): unknown {
  if (typeof value === 'string')
    return value.startsWith(mark) ? new PassedJson(value.slice(mark.length)) : value;
  if (typeof value !== 'object' || value === null) return value;
  const members = value as Record<string, unknown>;
  for (const name of Object.keys(members)) members[name] = unmarked(members[name], mark);
  return members;
}
