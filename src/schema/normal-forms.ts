/** Unicode's normal forms, in a time that grows with the text: the runtime's own puts the marks of a letter in order by insertion, which takes minutes for 80,000 of them. */

type Form = 'NFC' | 'NFD' | 'NFKC';

/** Marks in a row that are left to the runtime: no language has more (UAX #15, section 13). */
const FEW = 30;
/** More of them. The two letters are marks once they are taken apart. */
const LONG = new RegExp(`[\\p{M}\\uff9e\\uff9f]{${FEW + 1},}`, 'gu');

/** What `text.normalize(form)` is. */
export function normalized(text: string, form: Form): string {
  return text.replace(LONG, (run) => inOrder(run, form === 'NFKC' ? 'NFKD' : 'NFD')).normalize(form);
}

/** The same marks, each taken apart, in the order that every normal form has them in (UAX #15, D109). */
function inOrder(run: string, parts: 'NFD' | 'NFKD'): string {
  ranks ??= ranksOfMarks();
  const points: number[] = [];
  const apart = new Map<number, readonly number[]>();
  for (const each of run) {
    const point = pointOf(each);
    if (ranks[point]) points.push(point);
    else {
      const known = apart.get(point) ?? Array.from(each.normalize(parts), pointOf);
      apart.set(point, known);
      for (const part of known) points.push(part);
    }
  }
  for (let from = 0; from < points.length; ) {
    let end = from;
    while (ranks[points[end] ?? 0]) end++;
    if (end - from > FEW) sort(points, from, end, ranks);
    // No mark changes places with what is none.
    from = end + 1;
  }
  return textOf(points);
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
  const marks: string[] = [];
  for (let point = FIRST_MARK; point <= LAST_MARK; point++) {
    const mark = String.fromCodePoint(point);
    if (!/\p{M}/u.test(mark) || mark.normalize('NFKD') !== mark) continue;
    if (comesAfter(HIGHEST, mark) || comesAfter(mark, LOWEST)) marks.push(mark);
  }
  marks.sort((one, other) => Number(comesAfter(one, other)) - Number(comesAfter(other, one)));
  const found = new Uint8Array(LAST_MARK + 1);
  let [rank, last] = [1, marks[0] ?? ''];
  for (const mark of marks) {
    if (comesAfter(mark, last)) rank++;
    last = mark;
    found[pointOf(mark)] = rank;
  }
  return found;
}
