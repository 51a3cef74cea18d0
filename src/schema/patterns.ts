/** How many steps the matcher takes at most for a pattern that passes `whyDangerous`, by the length of the text. */

import { ANYTHING, type Part, partsOf, type Repeat } from './pattern-parts.ts';
import {
  areDisjoint,
  canFail,
  EDGE,
  finiteOf,
  frontOf,
  isPlain,
  type Rest,
  setsOf,
  sizeOf,
  sumOf,
} from './pattern-texts.ts';

/**
 * By the length of the text, up to `LONGEST`. What grows faster than the text does so from the start, by whole numbers:
 * whoever takes few steps for each character up to here does so for ever.
 */
type Counts = Float64Array;
const LONGEST = 1024;
/** Beyond, a text of `LONGEST` would end before much could happen. To forget that characters were consumed is safe. */
const MOST_CONSUMED = 256;
/** More than any pattern may take: numbers stay exact. */
const COUNTLESS = 1e12;

/** How often the matcher comes by a place in the pattern if every character fits, unless two sets have none in common. */
interface Arrivals {
  /** At the first so many characters of any text. Who comes sooner has more before him: to count him sooner is safe. */
  readonly total: Counts;
  /** At any one character, in texts of this length. */
  readonly same: Counts;
  /** Having just passed one of these. */
  readonly after: readonly string[];
}

/** A step is a look at a character, or an attempt at an alternative. */
export function stepsOf(pattern: string): Counts {
  const walk = new Walk();
  // Without ^ it is begun anew at each character.
  const same = new Float64Array(LONGEST + 1).fill(1);
  walk.part(partsOf(pattern), { total: LENGTHS, same, after: [ANYTHING] }, undefined);
  return walk.steps;
}

class Walk {
  readonly steps: Counts = new Float64Array(LONGEST + 1);
  #consumed = 0;
  /** Inside of what looks behind the matcher goes backward, and where it begins says nothing of how far it can go. */
  #isBehind = false;

  /** `rest`: all that has to match after the part. */
  part(part: Part, arrivals: Arrivals, rest: Rest): Arrivals {
    switch (part.is) {
      case 'set':
        this.#step(arrivals.total);
        return { ...this.#consume(arrivals, 1), after: [part.source] };
      case 'start':
        this.#step(arrivals.total);
        return this.#start(arrivals);
      case 'edge':
        this.#step(arrivals.total);
        return arrivals;
      case 'look':
        this.#look(part.choices, part.isBehind, arrivals);
        return arrivals;
      case 'group':
        return this.#group(part, arrivals, rest);
      case 'repeat':
        return this.#repeat(part, arrivals, rest);
    }
  }

  #step(total: Counts, times = 1): void {
    for (let length = 0; length <= LONGEST; length++)
      this.steps[length] = Math.min(COUNTLESS, (this.steps[length] ?? 0) + times * (total[length] ?? 0));
  }

  #consume(arrivals: Arrivals, count: number): Arrivals {
    if (this.#isBehind || this.#consumed + count > MOST_CONSUMED) return arrivals;
    this.#consumed += count;
    const total = new Float64Array(LONGEST + 1);
    total.set(arrivals.total.subarray(0, LONGEST + 1 - count), count);
    return { ...arrivals, total };
  }

  #start({ total, same }: Arrivals): Arrivals {
    const first = this.#isBehind ? min(total, same) : total.map(() => total[0] ?? 0);
    return { total: first, same: min(first, same), after: [] };
  }

  /** Once it has matched, the matcher does not come back into it; but what comes after can fail. */
  #look(choices: readonly (readonly Part[])[], isBehind: boolean, arrivals: Arrivals): void {
    const outside = this.#isBehind;
    this.#isBehind ||= isBehind;
    for (const choice of choices) {
      this.#step(arrivals.total);
      this.#sequence(choice, { ...arrivals, after: [ANYTHING] }, EDGE_REST);
    }
    this.#isBehind = outside;
  }

  #sequence(parts: readonly Part[], arrivals: Arrivals, rest: Rest): Arrivals {
    const rests = [rest];
    for (const part of parts.toReversed()) rests.push({ part, next: rests.at(-1) });
    let now = arrivals;
    for (const part of parts) {
      rests.pop();
      now = this.part(part, now, rests.at(-1));
    }
    return now;
  }

  #group(group: Part & { is: 'group' }, arrivals: Arrivals, rest: Rest): Arrivals {
    const [alone, ...others] = group.choices;
    if (alone && others.length === 0) return this.#sequence(alone, arrivals, rest);
    return (
      this.#finite(group, arrivals, rest) ??
      sum(
        group.choices.map((choice) => {
          this.#step(arrivals.total);
          return this.#sequence(choice, arrivals, rest);
        }),
      )
    );
  }

  /** What is short and has no loops can be counted out. */
  #finite(part: Part, arrivals: Arrivals, rest: Rest): Arrivals | undefined {
    const finite = finiteOf(part);
    if (!finite) return undefined;
    this.#step(arrivals.total, finite.steps);
    const ways = sumOf(finite.lengths);
    const ends = this.#isSeparate(part, arrivals.total, ways, rest) ? Math.max(...finite.lengths) : ways;
    const own = setsOf(part);
    const after = finite.lengths[0] ? [...arrivals.after, ...own] : own;
    const left = { total: times(arrivals.total, ends), same: times(arrivals.same, ways), after };
    return this.#consume(
      left,
      finite.lengths.findIndex((each) => each > 0),
    );
  }

  /**
   * Whether what comes next begins with what the part does not contain: from where the part begins, there is only one
   * character at which it can be left. At the others the attempt fails at once.
   */
  #isSeparate(
    part: Part,
    total: Counts,
    ways: number,
    rest: Rest,
    sets: readonly string[] = setsOf(part),
  ): boolean {
    const front = frontOf(rest);
    if (!front || !areDisjoint(sets, front.sets)) return false;
    this.#step(total, ways * front.steps);
    return true;
  }

  #repeat(repeat: Repeat, arrivals: Arrivals, rest: Rest): Arrivals {
    const { of, least, most } = repeat;
    if (most === 0) return arrivals;
    if (most === 1) {
      if (least === 1) return this.part(of, arrivals, rest);
      const finite = this.#finite(repeat, arrivals, rest);
      if (finite) return finite;
      this.#step(arrivals.total);
      return sum([arrivals, this.part(of, arrivals, rest)]);
    }
    if (isPlain(of)) return this.#loop(repeat, arrivals, rest);
    // `whyDangerous` lets pass only few turns, and always as many.
    return this.#sequence(Array(most).fill(of), arrivals, rest);
  }

  #loop(repeat: Repeat, arrivals: Arrivals, rest: Rest): Arrivals {
    const { of, least, most } = repeat;
    const { total, same, after } = arrivals;
    const size = sizeOf(of);
    // Only looks and edges: they move nowhere, and nobody turns in vain more often than he has to.
    if (size === 0) {
      this.part(of, { ...arrivals, total: times(total, Math.min(most, least + 1)) }, EDGE_REST);
      return arrivals;
    }
    const own = setsOf(of);
    const before = least === 0 ? [...after, ...own] : own;
    // Those who make no whole turn begin one all the same.
    const turns = (count: number) =>
      plus(times(this.#spread(total, count * size), 1 / size), times(total, 1 - 1 / size));
    // Where nothing can fail afterwards, it ends as soon as there were enough.
    if (!canFail(rest)) {
      this.part(of, { ...arrivals, total: plus(turns(least), LENGTHS) }, EDGE_REST);
      return { ...arrivals, after: before };
    }
    // Begun only behind what it does not contain, it never runs over the same text twice.
    const isOnce = areDisjoint(after, own);
    const once = product(same, LENGTHS);
    this.part(of, { ...arrivals, total: isOnce ? min(turns(most), once) : turns(most) }, EDGE_REST);
    if (least === most) return { total, same, after: own };
    const spread = this.#spread(total, (most - least) * size);
    const ends = isOnce ? min(spread, once) : spread;
    const first = frontOf({ part: of, next: undefined })?.sets ?? [ANYTHING];
    const isSeparate = this.#isSeparate(of, ends, 1, rest, first);
    const width = Math.min(most - least, LONGEST) + 1;
    return {
      total: isSeparate ? min(total, ends) : ends,
      same: isOnce ? same : min(total, times(same, width)),
      after: before,
    };
  }

  /** Each who comes goes on at the next `width` characters too. */
  #spread(total: Counts, width: number): Counts {
    if (this.#isBehind)
      return total.map((count, length) => Math.min(COUNTLESS, count * (Math.min(width, length) + 1)));
    let sum = 0;
    return total.map((count, length) => {
      sum += count - (length > width ? (total[length - width - 1] ?? 0) : 0);
      return Math.min(COUNTLESS, sum);
    });
  }
}

const EDGE_REST: Rest = { part: EDGE, next: undefined };
const LENGTHS = new Float64Array(LONGEST + 1).map((_, length) => length + 1);

function sum(all: readonly Arrivals[]): Arrivals {
  return {
    total: all.map(({ total }) => total).reduce(plus),
    same: all.map(({ same }) => same).reduce(plus),
    after: all.flatMap(({ after }) => after),
  };
}

function plus(some: Counts, others: Counts): Counts {
  return some.map((count, length) => Math.min(COUNTLESS, count + (others[length] ?? 0)));
}

function product(some: Counts, others: Counts): Counts {
  return some.map((count, length) => Math.min(COUNTLESS, count * (others[length] ?? 0)));
}

function min(some: Counts, others: Counts): Counts {
  return some.map((count, length) => Math.min(count, others[length] ?? 0));
}

function times(counts: Counts, factor: number): Counts {
  return counts.map((count) => Math.min(COUNTLESS, count * factor));
}
