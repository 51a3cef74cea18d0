/** Values that a JSON Schema of the API description allows, most of the time. */

import type { Dice } from '../../graphql/generated.ts';
import type { Description } from '../../rest/described.ts';
import { edges, sample } from '../../rest/samples.ts';
import { strangeTexts } from './noise.ts';

/** What a client has seen so far and can send again. */
export class Memory {
  /** By the path of their collection. */
  readonly keys = new Map<string, readonly (string | number)[]>();
  /** Of next and previous pages. */
  readonly links: string[] = [];
  readonly cursors: string[] = [];
  readonly tags: string[] = [];

  /** Of whatever collection. */
  get allKeys(): (string | number)[] {
    return [...this.keys.values()].flat();
  }

  remember(kind: 'links' | 'cursors' | 'tags', value: string): void {
    this[kind].push(value);
    if (this[kind].length > 20) this[kind].shift();
  }
}

const DEEPEST = 5;

export class SchemaValues {
  readonly #described: Description;
  readonly #memory: Memory;
  readonly #dice: Dice;
  /** How seldom a value is one from the edge of what is allowed, or from beyond. */
  readonly #care: number;

  constructor(described: Description, memory: Memory, dice: Dice, care: number) {
    this.#described = described;
    this.#memory = memory;
    this.#dice = dice;
    this.#care = care;
  }

  of(given: any, depth = 0): unknown {
    const dice = this.#dice;
    const schema = this.#described.schema(given);
    if (depth > 0 && dice.once(this.#care))
      return dice.once(4) ? null : dice.pick(edges(this.#described, schema));
    const options = schema.anyOf ?? schema.oneOf;
    if (options) return this.of(dice.pick(options), depth);
    if (schema.enum) return dice.pick(schema.enum);
    const types = [schema.type].flat();
    switch (types.length > 1 && dice.once(6) ? types.at(-1) : types[0]) {
      case 'null':
        return null;
      case 'boolean':
        return dice.once(2);
      case 'integer':
        return this.#number(schema);
      case 'number':
        return this.#number(schema) + dice.pick([0, 0.5, 0.125]);
      case 'array':
        return Array.from({ length: (schema.minItems ?? 0) + dice.roll(3) }, () =>
          this.of(schema.items ?? {}, depth + 1),
        );
      case 'object':
        return this.#object(schema, depth);
      case 'string':
        return this.#text(schema);
      default:
        return dice.pick([null, 0, 'any', true, [1, { a: null }], { b: [2.5] }]);
    }
  }

  #number({ minimum = -10, maximum = 1000 }: { minimum?: number; maximum?: number }): number {
    if (this.#dice.once(this.#care)) return this.#dice.pick([minimum - 1, maximum + 1]);
    const known = this.#memory.allKeys.filter((key) => typeof key === 'number');
    const candidates = [1, 2, 3, 7, minimum, maximum, ...known];
    return this.#dice.pick(candidates.filter((each) => each >= minimum && each <= maximum));
  }

  #text(schema: { format?: string; minLength?: number; maxLength?: number; pattern?: string }): string {
    const dice = this.#dice;
    const plain = String(sample(this.#described, schema));
    const known = this.#memory.allKeys.filter((key) => typeof key === 'string');
    const isUuid = (key: string) => /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(key);
    if (schema.format === 'uuid') return dice.pick([plain, ...known.filter(isUuid)]);
    if (schema.format !== undefined) return plain;
    const { minLength = 1, maxLength = 6 } = schema;
    const length = dice.once(this.#care)
      ? dice.pick([Math.max(0, minLength - 1), maxLength + 1])
      : Math.min(maxLength, Math.max(minLength, 1 + dice.roll(6)));
    // Few letters: what must be unique has to collide now and then.
    const letters = Array.from({ length }, () => dice.pick(dice.once(2) ? ['a'] : [...'abxyz'])).join('');
    if (schema.pattern !== undefined || dice.once(2)) return letters;
    return dice.pick([letters, plain, ...known, ...(dice.once(4) ? strangeTexts : [])]);
  }

  #object({ properties = {}, required = [] }: any, depth: number): Record<string, unknown> {
    const names = Object.keys(properties);
    const more =
      depth < DEEPEST && names.length > 0 ? this.#dice.roll(5) + (required.length === 0 ? 1 : 0) : 0;
    const chosen = new Set<string>(required);
    for (let count = 0; count < more; count++) chosen.add(this.#dice.pick(names));
    return Object.fromEntries([...chosen].map((name) => [name, this.of(properties[name] ?? {}, depth + 1)]));
  }
}
