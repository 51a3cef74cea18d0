/** Looks whether the slot of a schedule has come, by the database's clock, and has it run as a job. */

import type { Observe } from '../../base/observe.ts';
import type { Storage } from '../../storage/storage.ts';
import { dueSlots, isSlotDue, type Slot } from './queue.ts';

const LOOK_MS = 1_000;
const PATIENCE_MS = 30_000;

export class Clockwork {
  readonly #storage: Storage;
  readonly #slots: readonly Slot[];
  readonly #wake: () => void;
  readonly #observe: Observe;
  #timer: Timer | undefined;
  #looking: Promise<void> | undefined;

  /** `wake`: called when there is a job. */
  constructor(storage: Storage, slots: readonly Slot[], wake: () => void, observe: Observe) {
    this.#storage = storage;
    this.#slots = slots;
    this.#wake = wake;
    this.#observe = observe;
  }

  start(): void {
    if (this.#slots.length === 0) return;
    const look = () => {
      this.#looking ??= this.#look().finally(() => {
        this.#looking = undefined;
      });
    };
    look();
    this.#timer = setInterval(look, LOOK_MS);
    this.#timer.unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
  }

  async #look(): Promise<void> {
    const slots = this.#slots;
    const patience = performance.now() + PATIENCE_MS;
    try {
      // A look writes nothing, as long as nothing is due.
      if (!(await this.#storage.read(() => isSlotDue(slots), 'many', patience))) return;
      if ((await this.#storage.write(() => dueSlots(slots), 'many', patience)) > 0) this.#wake();
    } catch (error) {
      this.#observe({ event: 'failure', cause: error });
    }
  }
}
