/** The links from one page of a list to the next and to the one before. */

import { DuetError } from '../base/errors.ts';
import type { Node } from '../engine/read/read.ts';
import { common } from '../http/answer.ts';
import { cursorTo, LONGEST_CURSOR, queryName } from '../query/cursors.ts';
import type { ListQuery } from '../query/list.ts';
import { placeIn } from '../query/order.ts';
import type { Resource } from '../schema/model.ts';

type Rel = 'next' | 'prev';

/** Those of one list: whatever does not hang on the records is made once, and often nothing else has changed. */
export class Links {
  readonly #list: ListQuery;
  readonly #name: string;
  readonly #to: Readonly<Record<Rel, string>>;
  readonly #fields: Readonly<Record<string, string>>;
  #ends: string | undefined;
  #headers = new Headers();

  /** `query` is what the page was asked for with, and `fields` are headers that stand beside the links. */
  constructor(resource: Resource, list: ListQuery, query: string, fields: Readonly<Record<string, string>>) {
    const to = (rel: Rel) => `</${resource.path}?${linkTo(rel, list.backwards, query)}`;
    this.#list = list;
    this.#name = queryName(resource, list.where, list.order);
    this.#to = { next: to('next'), prev: to('prev') };
    this.#fields = fields;
  }

  /** The next page begins after one node, and the one before ends before the other, if there are such pages. */
  headers(after: Node | undefined, before: Node | undefined): Headers {
    const { order } = this.#list;
    const next = after && placeIn(order, after);
    const prev = before && placeIn(order, before);
    const ends = JSON.stringify([next, prev]);
    if (ends !== this.#ends) {
      const links = { ...(next && { next }), ...(prev && { prev }) };
      const texts = Object.entries(links).map(
        ([rel, place]) => `${this.#to[rel as Rel]}${cursorTo(this.#name, order, place)}>; rel="${rel}"`,
      );
      this.#headers = common({ ...this.#fields, Link: texts.join(', ') });
      this.#ends = ends;
    }
    return this.#headers;
  }
}

/** The query of a link, up to its cursor; the rest as the client wrote it, so that it does not grow. */
export function linkTo(rel: Rel, backwards: boolean, query: string): string {
  // A bound that was asked for stays on the way towards it.
  const replaced = rel === 'next' || !backwards ? ['after', 'before', 'offset'] : ['before'];
  const kept = query.split('&').filter((part) => part !== '' && !replaced.includes(nameOf(part)));
  const end = rel === 'next' ? 'after=' : 'before=';
  return [...kept, end].join('&').replace(/[^\x21\x23-\x3b\x3d\x3f-\x7e]/gu, encodeURIComponent);
}

function nameOf(part: string): string {
  const [[name = ''] = []] = new URLSearchParams(part);
  return name;
}

const CURSORS = ['after', 'before'].map(
  (name) => new RegExp(`[?&]${name}=[\\w-]{1,${LONGEST_CURSOR}}(?![^&])`),
);

/** Cursors do not count: a link adds one to what the client has asked for, and must lead somewhere. */
export function isTooLong(url: string, most: number): boolean {
  if (url.length <= most) return false;
  return CURSORS.reduce((text, cursor) => text.replace(cursor, ''), url).length > most;
}

/** Fails for one that is too long. */
export function admitUrl(url: string, most: number): void {
  if (isTooLong(url, most)) throw new DuetError('URL_TOO_LONG', `The URL is longer than ${most} bytes.`);
}
