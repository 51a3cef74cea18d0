/** What was planned for a selection, kept for every document that has the same one: texts are new more often than what they ask for. */

import { type FieldNode, Kind, type SelectionSetNode } from 'graphql';
import { Lru } from '../../base/lru.ts';
import type { Read } from '../../engine/operation.ts';
import type { Arguments } from '../fields.ts';
import { writtenArguments } from '../merged.ts';
import type { Planner } from '../plan.ts';

/** What to read for a field of the answer, and what to make of it. */
export interface Reading {
  readonly operation: Read;
  readonly complete: (answer: unknown) => unknown;
  readonly shape: (value: unknown) => unknown;
}

/** What hangs on the selection alone. */
export class Planned {
  readonly #id: number;
  readonly #plan: Planner;
  readonly #shape: Reading['shape'];
  readonly #lists: Lru<string, Reading>;

  constructor(id: number, plan: Planner, shape: Reading['shape'], lists: Lru<string, Reading>) {
    this.#id = id;
    this.#plan = plan;
    this.#shape = shape;
    this.#lists = lists;
  }

  reading(args: Arguments): Reading {
    const { operation, complete } = this.#plan(args);
    return { operation: operation as Read, complete, shape: this.#shape };
  }

  /**
   * What is made of the same arguments once more, such as those of a first page, is what was made of them before. `written` are
   * those that variables stand in: of the values alone nobody could tell a place whose variable was left out, which is an
   * error, from one that is not there.
   */
  listing(args: Arguments, written: string): Reading {
    const key = `${this.#id}${written}${JSON.stringify(args)}`;
    let reading = this.#lists.get(key);
    if (reading) return reading;
    reading = this.reading(args);
    if (key.length <= LONGEST_LIST) this.#lists.set(key, reading);
    return reading;
  }
}

/** As `Documents` bounds what it keeps: so many selections that are short. */
const KEPT_SELECTIONS = 500;
const SHORT_SELECTION = 128;
const LONGEST_SELECTION = 1024;
/** Lists that were asked for before, by their arguments, of all selections. */
const KEPT_LISTS = 1000;
const LONGEST_LIST = 512;

interface Kept {
  readonly planned: Planned;
  readonly weight: number;
}

export class PlannedSelections {
  readonly #kept = new Lru<string, Kept>(KEPT_SELECTIONS, undefined, ({ weight }) => weight);
  readonly #lists = new Lru<string, Reading>(KEPT_LISTS);
  #made = 0;

  make(plan: Planner, shape: Reading['shape']): Planned {
    return new Planned(this.#made++, plan, shape, this.#lists);
  }

  /** That of a field of the root type, without its arguments, and without variables below. */
  of(node: FieldNode, make: () => Planned): Planned {
    const key = node.selectionSet && writtenSelection(node.name.value, node.selectionSet);
    if (key === undefined || key.length > LONGEST_SELECTION) return make();
    const kept = this.#kept.get(key);
    if (kept) return kept.planned;
    const planned = make();
    this.#kept.set(key, { planned, weight: 1 + Math.floor(key.length / SHORT_SELECTION) });
    return planned;
  }
}

/** The same text for selections that ask for the same; undefined where fragments and conditions decide what they ask for. */
function writtenSelection(name: string, { selections }: SelectionSetNode): string | undefined {
  let text = `${name}{`;
  for (const node of selections) {
    if (node.kind !== Kind.FIELD || node.directives?.length) return undefined;
    const { alias, name, selectionSet } = node;
    text += alias ? ` ${alias.value}:` : ' ';
    const field = node.arguments?.length ? `${name.value}(${writtenArguments(node.arguments)})` : name.value;
    const whole = selectionSet ? writtenSelection(field, selectionSet) : field;
    if (whole === undefined) return undefined;
    text += whole;
  }
  return `${text}}`;
}
