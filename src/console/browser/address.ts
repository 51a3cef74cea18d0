/** Where in the console one is: everything that makes a view stands in the URL, after the `#`. What is not saved holds it. */

import { signal } from '@preact/signals';

export interface Place {
  /** `['data', 'Book', '1']` */
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

export const place = signal<Place>(read());

/** Where somebody wants to go who would lose something by it: they are asked, and this takes them there. */
export const leaving = signal<(() => void) | undefined>(undefined);

/** Whether the view holds what would be lost with it. */
let isHeld = () => false;

/** Asks from now on before the view is left; what it returns ends that. */
export function hold(is: () => boolean): () => void {
  isHeld = is;
  return () => {
    if (isHeld === is) release();
  };
}

/** What is held is saved, or may be lost. */
export function release(): void {
  isHeld = () => false;
}

export function go(link: string): void {
  leave(() => {
    location.hash = link;
  });
}

/** The same view, told otherwise: no step of the history. */
export function retell(link: string): void {
  history.replaceState(history.state, '', link);
  shown = location.hash;
  place.value = read();
}

/** Tells the entries of the history apart. */
export function entry(): string {
  return at + location.hash;
}

function leave(where: () => void): void {
  leaving.value = isHeld() ? where : undefined;
  if (!leaving.value) where();
}

addEventListener('beforeunload', (event) => {
  if (isHeld()) event.preventDefault();
});

addEventListener('click', (event) => {
  // With these, browsers open it elsewhere.
  if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const link = (event.target as Element).closest('a[href^="#"]:not([target])')?.getAttribute('href');
  if (!link || !isHeld()) return;
  event.preventDefault();
  go(link);
});

/** The entries of the history are numbered, so that a step back or forward can be taken back. */
let [shown, at] = [location.hash, numberOfEntry() ?? 0];
number();

addEventListener('popstate', () => {
  const next = numberOfEntry();
  const { hash } = location;
  // Back where the view still is, or a link to it, which makes a new entry in place of the old.
  if (hash === shown && (next ?? at) === at) number();
  else if (!isHeld()) {
    [shown, at] = [hash, next ?? at + 1];
    number();
    place.value = read();
  } else if (next === undefined) {
    history.back();
    go(hash);
  } else {
    const steps = next - at;
    history.go(-steps);
    leave(() => history.go(steps));
  }
});

function numberOfEntry(): number | undefined {
  return (history.state as { at: number } | null)?.at;
}

/** Once for each entry: to write to the history while somebody steps through it can lead them elsewhere. */
function number(): void {
  if (numberOfEntry() === undefined) history.replaceState({ at }, '');
}

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
