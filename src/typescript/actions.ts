/** What actions take and answer with, as TypeScript types, from either side: a client sends arguments and receives records; a
 * function is given all of the arguments, checked, and answers with records or with what tells which records.
 *
 *     const sides = new ActionTypes(types, 'client');
 *     sides.arguments(action)   // { itemId: string; quantity?: number }
 *     sides.answer(action)      // Order
 *     sides.all(model)          // the declarations of the plain types that these use
 */

import { shapesOf } from '../schema/actions.ts';
import type { ActionField, Model, Shape, Slot } from '../schema/model.ts';
import { scalars } from '../schema/scalars.ts';
import { defaultOf } from '../schema/values.ts';
import { givenList, interfaceOf, listOf, type Property, toldOf } from './print.ts';
import type { ModelTypes } from './types.ts';

const ID = scalars.get('ID');

export class ActionTypes {
  readonly #types: ModelTypes;
  readonly #side: 'client' | 'function';

  constructor(types: ModelTypes, side: 'client' | 'function') {
    this.#types = types;
    this.#side = side;
  }

  all({ actions }: Pick<Model, 'actions'>): string {
    return shapesOf(actions)
      .map((shape) => interfaceOf(shape.name, this.#properties(shape), { told: toldOf(shape) }))
      .join('\n');
  }

  arguments({ arguments: slots }: ActionField): string {
    const taken = slots.map((slot) => {
      const { name, type, optional } = this.#argument(slot);
      return `${name}${optional ? '?' : ''}: ${type}`;
    });
    return taken.length > 0 ? `{ ${taken.join('; ')} }` : '{}';
  }

  answer({ answer }: ActionField): string {
    const nothing = this.#side === 'client' ? ' | null' : ' | null | undefined';
    return `${this.#answered(answer)}${answer.required ? '' : nothing}`;
  }

  #properties({ kind, fields }: Shape): Property[] {
    return fields.map((slot) => {
      if (kind === 'input') return this.#argument(slot);
      const [isOptional, nothing] = [
        this.#side === 'function' && !slot.required,
        slot.required ? '' : ' | null',
      ];
      return {
        name: slot.name,
        type: `${this.#answered(slot)}${nothing}`,
        optional: isOptional,
        told: toldOf(slot),
      };
    });
  }

  /** A function finds null where nothing was given; a client leaves it out, and what has a default. */
  #argument(slot: Slot): Property {
    const { name, list, required } = slot;
    const one = this.#leaf(slot, true);
    const type = `${list ? (this.#side === 'client' ? givenList(one) : listOf(one)) : one}${required ? '' : ' | null'}`;
    const hasDefault = slot.is === 'value' && defaultOf(slot.column) !== undefined;
    const optional = this.#side === 'client' && (!required || hasDefault);
    return { name, type, optional, told: toldOf(slot) };
  }

  #answered(slot: Slot): string {
    const one = this.#leaf(slot, false);
    if (slot.is !== 'record' || this.#side === 'client')
      return slot.list ? (this.#side === 'client' ? listOf(one) : givenList(one)) : one;
    const { resource } = slot;
    const { key } = resource;
    const told = `${this.#types.leaf(key)} | { readonly ${key.name}: ${this.#types.leaf(key)} }`;
    return slot.list ? givenList(told) : told;
  }

  #leaf(slot: Slot, isArgument: boolean): string {
    if (slot.is === 'record') return slot.resource.name;
    if (slot.is === 'object') return slot.shape.name;
    // Ids are numbers in JSON, and functions see texts.
    const isGiven = this.#side === 'client' ? isArgument : !isArgument;
    return slot.column.type === ID && isGiven ? 'string | number' : this.#types.leaf(slot.column);
  }
}
