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

export function go(link: string): void {
  location.hash = link;
}
