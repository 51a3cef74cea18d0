/** What operators send: bodies and parameters, every fault of which is told at once. */

import { cited, type Fault, type FaultCode, isFull, pointer, validationFailed } from '../base/errors.ts';
import type { Exchange } from '../http/exchange.ts';

/** The members of a body or the parameters of a query, taken out by those who know them. */
export class Input {
  readonly #values: Readonly<Record<string, unknown>>;
  readonly #place: (name: string) => Pick<Fault, 'pointer' | 'parameter'>;
  readonly #known = new Set<string>();
  readonly #faults: Fault[] = [];

  private constructor(values: Readonly<Record<string, unknown>>, place: (name: string) => Partial<Fault>) {
    this.#values = values;
    this.#place = place;
  }

  static ofBody(body: Readonly<Record<string, unknown>>): Input {
    return new Input(body, (name) => ({ pointer: pointer(name) }));
  }

  /** A parameter that is given several times is a list. */
  static ofQuery({ query }: Exchange): Input {
    const values: Record<string, string[]> = Object.create(null);
    for (const [name, value] of new URLSearchParams(query)) {
      const list = values[name];
      if (list) list.push(value);
      else values[name] = [value];
    }
    return new Input(values, (name) => ({ parameter: name }));
  }

  /** Undefined where it is left out, or null. */
  value(name: string): unknown {
    this.#known.add(name);
    return Object.hasOwn(this.#values, name) ? (this.#values[name] ?? undefined) : undefined;
  }

  /** A parameter that may be given once. */
  text(name: string): string | undefined {
    const [first, ...more] = this.texts(name);
    if (more.length > 0) this.fault(name, 'UNKNOWN', `${name} is given twice`);
    return first;
  }

  /** None where it is left out. */
  texts(name: string): string[] {
    const value = this.value(name) ?? [];
    if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return value;
    this.fault(name, 'TYPE', `${name} must be a list of texts`);
    return [];
  }

  fault(name: string, code: FaultCode, detail: string): void {
    this.#faults.push({ ...this.#place(cited(name)), code, detail });
  }

  /** To be called when all was taken out: fails where something was wrong, or is left. */
  end(): void {
    const allowed = [...this.#known].join(', ') || 'nothing';
    for (const name of Object.keys(this.#values)) {
      if (isFull(this.#faults)) break;
      if (!this.#known.has(name))
        this.fault(name, 'UNKNOWN', `"${cited(name)}" is not known here; allowed: ${allowed}`);
    }
    if (this.#faults.length > 0) throw validationFailed(this.#faults);
  }
}
