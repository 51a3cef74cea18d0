/** Where in the console one is: everything that makes a view stands in the URL, after the `#`. */

import { signal } from '@preact/signals';

export interface Place {
  /** `['data', 'Book', '1']` */
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

export const place = signal<Place>(read());

addEventListener('hashchange', () => {
  place.value = read();
});

function read(): Place {
  const [path = '', query = ''] = splitOnce(location.hash.replace(/^#\/?/, ''), '?');
  return {
    path: path
      .split('/')
      .filter((part) => part !== '')
      .map(decoded),
    query: new URLSearchParams(query),
  };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function splitOnce(text: string, mark: string): string[] {
  const at = text.indexOf(mark);
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

/** The link to a place. */
export function to(path: readonly unknown[], query?: URLSearchParams | Record<string, string>): string {
  const text = readable(new URLSearchParams(query));
  return `#/${path.map((part) => encodeURIComponent(String(part))).join('/')}${text === '' ? '' : `?${text}`}`;
}

/** As people write it: what has no meaning in a query stands for itself. */
export function readable(query: URLSearchParams): string {
  return query
    .toString()
    .replace(/%5B/g, '[')
    .replace(/%5D/g, ']')
    .replace(/%2C/g, ',')
    .replace(/%3A/g, ':')
    .replace(/\+/g, '%20');
}

export function go(link: string): void {
  location.hash = link;
}

/** Goes there without a step that `back` would lead to. */
export function replace(link: string): void {
  history.replaceState(null, '', link);
  place.value = read();
}

export function dataLink(resource: string, ...rest: readonly unknown[]): string {
  return to(['data', resource, ...rest]);
}
