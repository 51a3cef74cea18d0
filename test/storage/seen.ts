/** A storage under the eyes of a test: what its programs ask for, and what they are answered. */

import type { Row, Statement } from '../../src/storage/statements.ts';
import type { Program, Storage } from '../../src/storage/storage.ts';

export function seen(
  storage: Storage,
  see: (statements: readonly Statement[], rows: readonly Row[][]) => void,
): Storage {
  const seeing = (program: () => Program<any>) =>
    function* (): Program<any> {
      const steps = program();
      let step = steps.next();
      while (!step.done) {
        const rows = yield step.value;
        see(step.value, rows);
        step = steps.next(rows);
      }
      return step.value;
    };
  const seeingStorage: Pick<Storage, 'read' | 'write'> = {
    read: (program, ...more) => storage.read(seeing(program), ...more),
    write: (program, ...more) => storage.write(seeing(program), ...more),
  };
  return seeingStorage as Storage;
}
