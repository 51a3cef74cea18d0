/** Counts how often the programs of writes let others have their turn. */

import { OTHERS_TURN, type Program, type Storage } from '../../src/storage/storage.ts';
import { withOwn } from '../app.ts';

export class CountedTurns {
  count = 0;

  /** For `around` of a deployment. */
  readonly around = (storage: Storage): Storage => {
    const write: Storage['write'] = (program, ...more) =>
      storage.write(() => this.#counting(program()), ...more);
    return withOwn(storage, { write });
  };

  *#counting<T>(program: Program<T>): Program<T> {
    let step = program.next();
    while (!step.done) {
      if (step.value === OTHERS_TURN) this.count++;
      try {
        step = program.next(yield step.value);
      } catch (error) {
        step = program.throw(error);
      }
    }
    return step.value;
  }
}
