/** Which texts the parts of a pattern can match: with what they begin, what they consist of, how long they are. */

import { ANYTHING, type Part } from './pattern-parts.ts';

/** All that has to match after a part. */
export type Rest = { readonly part: Part; readonly next: Rest } | undefined;

export const EDGE: Part = { is: 'edge' };

export function canFail(rest: Rest): boolean {
  for (let at = rest; at; at = at.next) if (partCanFail(at.part)) return true;
  return false;
}

function partCanFail(part: Part): boolean {
  if (part.is === 'repeat') return part.least > 0 && partCanFail(part.of);
  return part.is !== 'group' || part.choices.every((choice) => choice.some(partCanFail));
}

/** Of what it consists. */
export function setsOf(part: Part): string[] {
  if (part.is === 'set') return [part.source];
  if (part.is === 'repeat') return part.most === 0 ? [] : setsOf(part.of);
  return part.is === 'group' ? [...new Set(part.choices.flat().flatMap(setsOf))] : [];
}

/** Whether it matches in one way only, and always as many characters. */
export function isPlain(part: Part): boolean {
  if (part.is === 'repeat') return part.least === part.most && isPlain(part.of);
  return !('choices' in part) || (part.choices.length === 1 && part.choices.flat().every(isPlain));
}

/** How many characters it matches, if it is plain. */
export function sizeOf(part: Part): number {
  if (part.is === 'set') return 1;
  if (part.is === 'repeat') return part.least * sizeOf(part.of);
  return part.is === 'group' ? sumOf(part.choices.flat().map(sizeOf)) : 0;
}

interface Front {
  /** What the next character can be. */
  readonly sets: readonly string[];
  /** What it takes to see that it is none of them, and in how many ways no character is needed. */
  readonly steps: number;
  readonly ways: number;
}

/** Undefined where it is not easily said. */
export function frontOf(rest: Rest): Front | undefined {
  let all: Front = { sets: [], steps: 0, ways: 1 };
  for (let at = rest; at && all.ways > 0; at = at.next) {
    const front = frontOfPart(at.part);
    if (!front) return undefined;
    all = {
      sets: [...all.sets, ...front.sets],
      steps: all.steps + all.ways * front.steps,
      ways: all.ways * front.ways,
    };
  }
  return all;
}

function frontOfPart(part: Part): Front | undefined {
  switch (part.is) {
    case 'set':
      return { sets: [part.source], steps: 1, ways: 0 };
    case 'start':
    case 'edge':
      return { sets: [], steps: 1, ways: 1 };
    case 'look':
      // It is run through before the next character is looked at.
      if (part.choices.length > 1 || !part.choices.flat().every(({ is }) => is === 'set' || is === 'edge'))
        return undefined;
      return { sets: [], steps: 1 + part.choices.flat().length, ways: 1 };
    case 'repeat': {
      if (part.most === 0) return { sets: [], steps: 0, ways: 1 };
      const front = frontOfPart(part.of);
      return front?.ways === 0
        ? { ...front, steps: front.steps + 1, ways: part.least === 0 ? 1 : 0 }
        : undefined;
    }
    case 'group': {
      const fronts = part.choices.map(frontOfChoice);
      const known = fronts.filter((front) => front !== undefined);
      if (known.length < fronts.length) return undefined;
      return {
        sets: known.flatMap(({ sets }) => sets),
        steps: sumOf(known.map(({ steps }) => 1 + steps)),
        ways: sumOf(known.map(({ ways }) => ways)),
      };
    }
  }
}

function frontOfChoice(choice: readonly Part[]): Front | undefined {
  return frontOf(choice.reduceRight<Rest>((next, part) => ({ part, next }), undefined));
}

interface Finite {
  /** By the number of characters: in how many ways it can at most match one text of so many. */
  readonly lengths: readonly number[];
  /** What all the ways take from one place. */
  readonly steps: number;
}

/** Longer parts, or such that repeat more often, are not counted out. */
const MOST_LENGTH = 64;
const MOST_TURNS = 16;

export function finiteOf(part: Part): Finite | undefined {
  switch (part.is) {
    case 'set':
      return { lengths: [0, 1], steps: 1 };
    case 'start':
    case 'edge':
      return { lengths: [1], steps: 1 };
    case 'look':
      return undefined;
    case 'group':
      return finiteOfChoices(part.choices);
    case 'repeat': {
      if (part.most > MOST_TURNS) return undefined;
      const turn = finiteOf(part.of);
      let turned: Finite | undefined = NOTHING;
      let lengths = part.least === 0 ? NOTHING.lengths : [];
      for (let turns = 1; turns <= part.most; turns++) {
        turned = turned && turn && joined(turned, turn);
        if (!turned) return undefined;
        if (turns >= part.least) lengths = merged([lengths, turned.lengths]);
      }
      return { lengths, steps: 1 + turned.steps };
    }
  }
}

const NOTHING: Finite = { lengths: [1], steps: 0 };

function finiteOfSequence(parts: readonly Part[]): Finite | undefined {
  let all: Finite | undefined = NOTHING;
  for (const part of parts) {
    const next = finiteOf(part);
    all = all && next && joined(all, next);
  }
  return all;
}

function joined(one: Finite, next: Finite): Finite | undefined {
  if (one.lengths.length + next.lengths.length > MOST_LENGTH) return undefined;
  const lengths: number[] = Array(one.lengths.length + next.lengths.length - 1).fill(0);
  for (const [at, ways] of one.lengths.entries())
    for (const [more, each] of next.lengths.entries())
      lengths[at + more] = (lengths[at + more] ?? 0) + ways * each;
  return { lengths, steps: one.steps + sumOf(one.lengths) * next.steps };
}

/** Of alternatives that begin differently, one text can fit only one. */
function finiteOfChoices(choices: readonly (readonly Part[])[]): Finite | undefined {
  const all = choices.map((choice) => ({ front: frontOfChoice(choice), finite: finiteOfSequence(choice) }));
  const found = all.map((one): Finite | undefined => {
    const rivals = all.filter((other) => one === other || mayBothFit(one.front, other.front));
    const known = rivals.map(({ finite }) => finite).filter((finite) => finite !== undefined);
    if (known.length < rivals.length) return undefined;
    const others = all.filter((other) => !rivals.includes(other));
    return {
      lengths: merged(known.map(({ lengths }) => lengths)),
      steps:
        all.length +
        sumOf(known.map(({ steps }) => steps)) +
        sumOf(others.map(({ front }) => front?.steps ?? 0)),
    };
  });
  const known = found.filter((finite) => finite !== undefined);
  if (known.length < found.length) return undefined;
  const longest = Math.max(...known.map(({ lengths }) => lengths.length));
  return {
    lengths: Array.from({ length: longest }, (_, at) =>
      Math.max(...known.map(({ lengths }) => lengths[at] ?? 0)),
    ),
    steps: Math.max(...known.map(({ steps }) => steps)),
  };
}

function mayBothFit(one: Front | undefined, other: Front | undefined): boolean {
  return !one || !other || one.ways > 0 || other.ways > 0 || !areDisjoint(one.sets, other.sets);
}

export function sumOf(all: readonly number[]): number {
  return all.reduce((sum, each) => sum + each, 0);
}

function merged(all: readonly (readonly number[])[]): number[] {
  const longest = Math.max(0, ...all.map(({ length }) => length));
  return Array.from({ length: longest }, (_, at) => sumOf(all.map((each) => each[at] ?? 0)));
}

export function areDisjoint(some: readonly string[], others: readonly string[]): boolean {
  return some.every((set) => others.every((other) => !overlaps(runsOf(set), runsOf(other))));
}

/** Beginnings and ends, in turn, of all the runs of characters that a set contains. */
type Runs = readonly number[];

/** By the set; schemas have few. */
const runs = new Map<string, Runs>();

function runsOf(set: string): Runs {
  let found = runs.get(set);
  if (!found) {
    const text = isAscii(set) ? ASCII : everyCharacter();
    found = [...text.matchAll(new RegExp(`(?:${set})+`, 'gu'))].flatMap(({ 0: run, index }) => [
      index,
      index + run.length,
    ]);
    runs.set(set, found);
  }
  return found;
}

function overlaps(some: Runs, others: Runs): boolean {
  let other = 0;
  for (let at = 0; at < some.length; at += 2) {
    while (other < others.length && (others[other + 1] ?? 0) <= (some[at] ?? 0)) other += 2;
    if (other < others.length && (others[other] ?? 0) < (some[at + 1] ?? 0)) return true;
  }
  return false;
}

function isAscii(set: string): boolean {
  return set !== ANYTHING && !/[^ -~]|\\[DPSWpsux]|^\[\^|^\.$/.test(set);
}

const ASCII = String.fromCharCode(...Array(128).keys());

/** Half surrogates aside, which no text has. Made when it is needed, which is seldom: it takes megabytes. */
function everyCharacter(): string {
  const units = new Uint16Array(2 * 0x11_0000);
  let at = 0;
  for (let code = 0; code < 0x1_0000; code++) if (code < 0xd800 || code > 0xdfff) units[at++] = code;
  for (let high = 0xd800; high < 0xdc00; high++)
    for (let low = 0xdc00; low < 0xe000; low++) {
      units[at++] = high;
      units[at++] = low;
    }
  return new TextDecoder('utf-16le').decode(units.subarray(0, at));
}
