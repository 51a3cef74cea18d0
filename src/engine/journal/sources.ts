/** What an answer is made of: of which types, and which of their records. What happens to others cannot alter it. */

import { DuetError } from '../../base/errors.ts';
import { isAbridged } from '../../query/cursors.ts';
import { all, equal, everything, type Filter, isEverything, nothing, reached } from '../../query/filter.ts';
import type { ListQuery } from '../../query/list.ts';
import type { Order } from '../../query/order.ts';
import { isReferred } from '../../query/referred.ts';
import type { Resource } from '../../schema/model.ts';
import type { Aggregate, Ask, Read, Relation, Selection } from '../operation.ts';
import type { ChangesRead } from './changes-operation.ts';
import type { Change } from './showing.ts';
import { type Judge, judgeOf, operandsIn } from './verdict.ts';

/**
 * A change is judged by that many comparisons at the most, for each answer: beyond them, whatever happens to records of the type
 * may alter it. What one caller asks for must not take the time of all.
 */
const MOST_OPERANDS = 100;

export class Sources {
  readonly #model: readonly Resource[];
  /** By name; a record of a type that the answer is made of can match by one of the judges; by none, where each may. */
  readonly #judges = new Map<string, { readonly resource: Resource; judges: Judge[] | undefined }>();
  #operands = 0;

  constructor(model: readonly Resource[]) {
    this.#model = model;
  }

  /** The rules are in an operation that is permitted: what they look at is looked at too. */
  add(operation: Read | Ask | ChangesRead): void {
    switch (operation.do) {
      case 'list':
        this.#addList(operation.resource, operation.list);
        this.#addSelection(operation.resource, operation.selection);
        break;
      case 'get': {
        const { resource, key, seen, selection } = operation;
        this.#add(resource, all([key === undefined ? nothing : equal(resource.key, key), seen]));
        this.#addSelection(resource, selection);
        break;
      }
      case 'aggregate':
        this.#addAggregate(operation);
        break;
      case 'ask':
        // It may look at whatever it likes.
        for (const resource of this.#model) this.#add(resource, everything);
        break;
      case 'changes':
        this.#addChanges();
        break;
    }
  }

  /** Those that keep no changes. */
  get unkept(): Resource[] {
    return [...this.#judges.values()].flatMap(({ resource }) => (resource.journal ? [] : resource));
  }

  /** Whether the change can have altered the answer. */
  has({ resource: name, before, after }: Change): boolean {
    const found = this.#judges.get(name);
    if (!found) return false;
    const images = [before, after].filter((image) => image != null);
    const { judges } = found;
    if (!judges || images.length === 0) return true;
    return judges.some((mayMatch) => images.some(mayMatch));
  }

  #add(resource: Resource, where: Filter): void {
    const found = this.#judges.get(resource.name) ?? { resource, judges: [] };
    this.#judges.set(resource.name, found);
    if (isEverything(where)) found.judges = undefined;
    if (found.judges) {
      this.#operands += operandsIn(where);
      if (this.#operands > MOST_OPERANDS) found.judges = undefined;
      else found.judges.push(judgeOf(where, resource));
    }
    for (const each of reached(where)) this.#reach(each);
  }

  /** Of what is only looked at on the way, each record may matter. */
  #reach(resource: Resource): void {
    this.#judges.set(resource.name, { resource, judges: undefined });
  }

  #addList(resource: Resource, { where, order, after, before }: ListQuery): void {
    // A page may begin at a record that does not match.
    const isApart = isAbridged(after) || isAbridged(before);
    this.#add(resource, where);
    if (isApart) this.#reach(resource);
    this.#addOrder(order);
  }

  #addOrder(order: Order): void {
    for (const { column } of order)
      if (isReferred(column)) for (const { field, where } of column.through) this.#add(field.target, where);
  }

  #addAggregate({ resource, where, order, relations }: Aggregate): void {
    this.#add(resource, where);
    this.#addOrder(order);
    this.#addRelations(relations);
  }

  #addSelection(resource: Resource, { relations, guards, changes }: Selection): void {
    this.#addRelations(relations);
    for (const guard of guards ?? []) for (const each of reached(guard.where)) this.#reach(each);
    if (changes) {
      this.#reach(resource);
      this.#addChanges();
    }
  }

  #addRelations(relations: readonly Relation[]): void {
    for (const { field, selection, list, seen, seenLinks, summary } of relations) {
      if (field.kind === 'through') this.#add(field.links.target, seenLinks ?? everything);
      if (summary) this.#addAggregate(summary.aggregate);
      else if (list) this.#addList(field.target, list);
      else this.#add(field.target, seen ?? everything);
      if (list && seen) for (const each of reached(seen)) this.#reach(each);
      this.#addSelection(field.target, selection);
    }
  }

  /** Where they stand, and what is the past of them, is told by a position that counts the changes of all types. */
  #addChanges(): void {
    for (const resource of this.#model) if (resource.journal) this.#reach(resource);
  }
}

/** Names those alone that are given: of others that lack it, the caller may not even know that they exist. */
export function notLive(resources: readonly Resource[]): DuetError {
  const cure =
    resources.length > 0
      ? `Add it to ${namesOf(resources)}, or ask for the plain answer.`
      : "What a rule or a function looks at here lacks it, and the server's log names it. Ask for the plain answer.";
  return new DuetError(
    'NOT_LIVE',
    `A live answer needs @journal on each type that it, or a rule that it is subject to, looks at. ${cure}`,
  );
}

export function namesOf(resources: readonly Resource[]): string {
  const names = resources.map(({ name }) => name).sort();
  return names.join(', ');
}
