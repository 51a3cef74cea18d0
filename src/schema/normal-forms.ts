/** Unicode's normal forms, in a time that grows with the text: the runtime's own take minutes for 80,000 characters that touch what is before them. */

type Form = 'NFC' | 'NFD' | 'NFKC';

/** So many of them in a row are left to the runtime: no language has more (UAX #15, section 13). */
const FEW = 30;
/**
 * What changes places, or becomes one, with a character before it: marks, which the runtime puts in order by insertion, and
 * vowels and ends of syllables, of which it moves all that follow for each that becomes one with another. A few of them are
 * letters, or marks only once they are taken apart.
 */
const TOUCHING =
  '\\p{M}\\u1161-\\u1175\\u11a8-\\u11c2\\u3133-\\u313f\\u314f-\\u3163\\uff9e\\uff9f\\uffa3-\\uffaf\\uffc2-\\uffdc\\u{16d67}\\u{16d68}';
const LONG = new RegExp(`[${TOUCHING}]{${FEW + 1}}`, 'u');
/** With what they touch; nothing else in a text touches them. */
const LONG_RUN = new RegExp(`([^${TOUCHING}]?[${TOUCHING}]{${FEW + 1},})`, 'u');

/** What `text.normalize(form)` is. */
export function normalized(text: string, form: Form): string {
  if (!LONG.test(text)) return text.normalize(form);
  const asked = new Asked(form === 'NFKC' ? 'NFKD' : 'NFD');
  const parts = text.split(LONG_RUN).map((part, index) => {
    if (index % 2 === 0) return part.normalize(form);
    const points = inOrder(part, asked);
    return textOf(form === 'NFD' ? points : together(points, asked));
  });
  return parts.join('');
}

/** What the runtime says of single characters and of two, asked once for a text. */
class Asked {
  readonly ranks: Uint8Array;
  readonly #form: 'NFD' | 'NFKD';
  readonly #parts = new Map<number, readonly number[]>();
  readonly #pairs = new Map<number, Map<number, number>>();

  constructor(form: 'NFD' | 'NFKD') {
    ranks ??= ranksOfMarks();
    this.ranks = ranks;
    this.#form = form;
  }

  parts(point: number): readonly number[] {
    let parts = this.#parts.get(point);
    if (!parts) {
      parts = pointsOf(String.fromCodePoint(point).normalize(this.#form));
      this.#parts.set(point, parts);
    }
    return parts;
  }

  /** What two become, or 0. */
  together(one: number, other: number): number {
    let pairs = this.#pairs.get(one);
    if (!pairs) {
      pairs = new Map();
      this.#pairs.set(one, pairs);
    }
    let composed = pairs.get(other);
    if (composed === undefined) {
      const [point = 0, more] = pointsOf(String.fromCodePoint(one, other).normalize('NFC'));
      composed = more === undefined ? point : 0;
      pairs.set(other, composed);
    }
    return composed;
  }
}

/** The same characters, each taken apart, in the order that every normal form has them in (UAX #15, D109). */
function inOrder(run: string, asked: Asked): number[] {
  const { ranks } = asked;
  const points: number[] = [];
  for (let at = 0; at < run.length; at++) {
    const point = run.codePointAt(at) ?? 0;
    if (point > 0xffff) at++;
    if (ranks[point]) points.push(point);
    else for (const part of asked.parts(point)) points.push(part);
  }
  for (let from = 0; from < points.length; ) {
    let end = from;
    let isSorted = true;
    for (let last = 0; ; end++) {
      const rank = ranks[points[end] ?? 0] ?? 0;
      if (rank === 0) break;
      if (rank < last) isSorted = false;
      last = rank;
    }
    if (!isSorted) sort(points, from, end, ranks);
    // No mark changes places with what is none.
    from = end + 1;
  }
  return points;
}

/** Those that become one with what they touch, put together (UAX #15, D117). */
function together(points: readonly number[], asked: Asked): number[] {
  const { ranks } = asked;
  const kept: number[] = [];
  let start = -1;
  let last = 0;
  for (const point of points) {
    const rank = ranks[point] ?? 0;
    // One of the same rank stands between them otherwise, or one that changes places with neither.
    const composed = start >= 0 && (last === 0 || last < rank) ? asked.together(kept[start] ?? 0, point) : 0;
    if (composed) {
      kept[start] = composed;
      continue;
    }
    if (rank === 0) start = kept.length;
    kept.push(point);
    last = rank;
  }
  return kept;
}

function pointsOf(text: string): number[] {
  return Array.from(text, pointOf);
}

function pointOf(character: string): number {
  return character.codePointAt(0) ?? 0;
}

/** By their ranks; of the same rank, in the order in which they came. */
function sort(points: number[], from: number, end: number, by: Uint8Array): void {
  const alike: number[][] = [];
  for (let at = from; at < end; at++) {
    const point = points[at] ?? 0;
    const rank = by[point] ?? 0;
    const others = alike[rank];
    if (others) others.push(point);
    else alike[rank] = [point];
  }
  let at = from;
  for (const others of alike) for (const point of others ?? []) points[at++] = point;
}

/** How many arguments a call takes with ease. */
const TOGETHER = 4096;

function textOf(points: readonly number[]): string {
  let text = '';
  for (let at = 0; at < points.length; at += TOGETHER)
    text += String.fromCodePoint(...points.slice(at, at + TOGETHER));
  return text;
}

/** Of the marks that change places with others, by the order of their combining classes, from 1; made when somebody first needs it. */
let ranks: Uint8Array | undefined;

const [FIRST_MARK, LAST_MARK] = [0x300, 0x1ffff];
/** Of the lowest class, and of the highest. */
const [LOWEST, HIGHEST] = ['\u0334', '\u0345'];

/** The runtime tells no classes, but which of two marks comes first. */
function ranksOfMarks(): Uint8Array {
  const comesAfter = (one: string, other: string) => (one + other).normalize('NFD') !== one + other;
  const all = textOf(Array.from({ length: LAST_MARK + 1 - FIRST_MARK }, (_, index) => FIRST_MARK + index));
  const marks = (all.match(/\p{M}/gu) ?? []).filter(
    (mark) => mark.normalize('NFKD') === mark && (comesAfter(HIGHEST, mark) || comesAfter(mark, LOWEST)),
  );
  const found = new Uint8Array(LAST_MARK + 1);
  let [rank, last] = [1, marks[0] ?? ''];
  for (const mark of marks.join('').normalize('NFD')) {
    if (comesAfter(mark, last)) rank++;
    last = mark;
    found[pointOf(mark)] = rank;
  }
  return found;
}
