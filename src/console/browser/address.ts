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

/** What would be lost with the view, if there is anything; what saves it without a question, as in cells, and what gives it up. */
interface Held {
  is(): boolean;
  save?(): Promise<void>;
  drop?(): void;
}

const holds = new Set<Held>();
const isHeld = () => [...holds].some((each) => each.is());

/** Asks from now on before the view is left; what it returns ends that. */
export function hold(held: Held): () => void {
  holds.add(held);
  return () => void holds.delete(held);
}

/** What is held is saved, or may be lost. */
export function release(): void {
  for (const each of holds) each.drop?.();
  holds.clear();
}

export function go(link: string): void {
  void leave(() => {
    location.hash = link;
  });
}

/** The same view, told otherwise: no step of the history. */
export function retell(link: string): void {
  history.replaceState(history.state, '', link);
  shown = location.hash;
  place.value = read();
}

/** Which entry of the history the view is. */
export function entryNumber(): number {
  return at;
}

/** Tells the entries of the history apart. */
export function entry(): string {
  return at + location.hash;
}

/** Does what would take along what is held: once that is saved, or somebody has said so. */
export async function leave(where: () => void): Promise<void> {
  if (isHeld()) await saved();
  ask(where);
}

async function saved(): Promise<void> {
  await Promise.all([...holds].map((each) => each.is() && each.save?.()));
}

function ask(where: () => void): void {
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

/** Steps that are taken while something is saved are taken together. */
let isSaving = false;

addEventListener('popstate', async () => {
  if (isSaving) return;
  if (isHeld() && !isHere()) {
    isSaving = true;
    await saved();
    isSaving = false;
  }
  const next = numberOfEntry();
  const { hash } = location;
  if (isHere()) number();
  else if (!isHeld()) {
    [shown, at] = [hash, next ?? at + 1];
    number();
    place.value = read();
  } else if (next === undefined) {
    history.back();
    ask(() => go(hash));
  } else {
    const steps = next - at;
    history.go(-steps);
    ask(() => history.go(steps));
  }
});

/** Back where the view still is, or at a link to it, which makes a new entry in place of the old. */
function isHere(): boolean {
  return location.hash === shown && (numberOfEntry() ?? at) === at;
}

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
