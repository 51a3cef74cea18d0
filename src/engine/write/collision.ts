/** A row that contradicts what is stored, with the rows that were to be stored with it. */

import { DuetError, type Fault, pointer } from '../../base/errors.ts';
import type { Column, Reference, Resource } from '../../schema/model.ts';
import { withArticle } from '../../schema/names.ts';
import type { Row } from '../../storage/statements.ts';
import type { Access } from '../policy/access.ts';

/** A row that is to be stored, and where it stands in the input. */
export interface Placed {
  readonly resource: Resource;
  readonly row: Row;
  /** What is wrong beside uniqueness: references that point to nothing. */
  readonly others: readonly Fault[];
  readonly path: readonly (string | number)[];
  /** Where it was not looked up what it refers to. */
  readonly sought?: Sought;
}

/** How a row's references are looked up once its transaction is over. */
interface Sought {
  readonly access: Access;
  /** Whether a reference that leads to nothing is told: not one to what the transaction itself might have brought. */
  readonly isTold: (reference: Reference, key: unknown) => boolean;
}

interface Particulars {
  readonly others: readonly Fault[];
  readonly path: readonly (string | number)[];
  /** The record was not there a moment ago: whoever runs the transaction again finds it. */
  readonly isRace: boolean;
  /** The input names the row, and what came after it, by their places alone, and none of their fields. */
  readonly isWhole: boolean;
  /** What is nested in it, or came after it, and was not tried, of which the same is told. */
  readonly beside: readonly Placed[];
}

const plain: Particulars = { others: [], path: [], isRace: false, isWhole: false, beside: [] };

export class Collision extends Error {
  readonly resource: Resource;
  readonly row: Row;
  /** The unique constraint that the database named; it stops at the first. None where it was not asked. */
  readonly columns: readonly Column[];
  readonly more: Particulars;

  constructor(resource: Resource, row: Row, columns: readonly Column[], more: Partial<Particulars> = {}) {
    super(`${withArticle(resource.name)} collides with another`);
    this.resource = resource;
    this.row = row;
    this.columns = columns;
    this.more = { ...plain, ...more };
  }

  #with(more: Partial<Particulars>): Collision {
    return new Collision(this.resource, this.row, this.columns, { ...this.more, ...more });
  }

  lost(): Collision {
    return this.#with({ isRace: true });
  }

  within(outer: readonly (string | number)[]): Collision {
    const { path, beside } = this.more;
    return this.#with({
      path: [...outer, ...path],
      beside: beside.map((each) => ({ ...each, path: [...outer, ...each.path] })),
    });
  }

  /** Of rows of a list that stand at these places, by their indexes, and nowhere else. */
  at(places: readonly (readonly (string | number)[])[]): Collision {
    const place = (path: readonly (string | number)[]) => places[Number(path[0] ?? 0)] ?? [];
    const { path, beside } = this.more;
    return this.#with({
      path: place(path),
      isWhole: true,
      beside: beside.map((each) => ({ ...each, path: place(each.path) })),
    });
  }

  also(rows: readonly Placed[]): Collision {
    return rows.length > 0 ? this.#with({ beside: [...this.more.beside, ...rows] }) : this;
  }

  /** Where these were written before it, and are gone by the time that references are looked up. */
  after(wasThere: (reference: Reference, key: unknown) => boolean): Collision {
    const beside = this.more.beside.map(({ sought, ...each }): Placed => {
      if (!sought) return each;
      const isTold: Sought['isTold'] = (...asked) => !wasThere(...asked) && sought.isTold(...asked);
      return { ...each, sought: { ...sought, isTold } };
    });
    return this.#with({ beside });
  }
}

/** What of a row must be that of no other record. */
export function uniquesOf(
  { key, uniques }: Resource,
  row: Row,
  others: readonly Fault[] = [],
): (readonly Column[])[] {
  const natural = key.origin.by === 'client' ? [[key]] : [];
  // What a reference points to may be hidden rather than missing: whether another has it too would tell.
  const dangling = new Set(others.map((fault) => fault.pointer));
  return [...natural, ...uniques.map(({ columns }) => columns)].filter((set) =>
    set.every(({ name }) => row[name] != null && !dangling.has(pointer(name))),
  );
}

export function conflict(errors: readonly Fault[]): DuetError {
  return new DuetError('CONFLICT', `${errors[0]?.detail ?? 'A referenced record does not exist'}.`, {
    errors,
  });
}
