/** A node that evolves a database while a test looks on, or ends it. */

import { readConfig } from '../../src/config/config.ts';
import type { Model } from '../../src/schema/model.ts';
import type { Evolvable, Session } from '../../src/storage/evolve/database.ts';
import { evolve } from '../../src/storage/evolve/evolve.ts';
import { openDatabase } from '../../src/storage/open.ts';
import type { Row, Statement } from '../../src/storage/statements.ts';
import { databaseSettings } from '../app.ts';
import { type Deployment, modelOf } from './deployment.ts';

/** Whatever throws is the node's end. `isHeld`: whether writers of older files are refused by then; `count`: since when. */
interface Watching {
  /** Before each turn that it has alone. */
  readonly turn?: (turn: number) => Promise<void>;
  /** When it has looked at all that was written, and older nodes are about to be refused; on SQLite they wait by then. */
  readonly raising?: () => Promise<void>;
  /** Before each program. */
  readonly program?: (isHeld: boolean, count: number) => void;
  /** Before each statement of its own. */
  readonly statement?: (isHeld: boolean, count: number, sql: string) => void;
  /** With what programs ask for. */
  readonly asked?: (isHeld: boolean, statements: readonly Statement[]) => void;
  readonly model?: Model;
}

/** Evolves as a node does, and calls back. */
export async function watched(
  deployment: Deployment,
  sdl: string,
  { turn, raising, program, statement, asked, model = modelOf(sdl) }: Watching,
): Promise<void> {
  const { config } = readConfig([], await databaseSettings(deployment.url));
  if (!config) throw new Error(deployment.url);
  const database = openDatabase(config, model);
  let [turns, programs, statements, isRaised, isHeld, isDead] = [0, 0, 0, false, false, false];
  const alive = <T>(tell: () => void, then: () => T): T => {
    if (isDead) throw new Error('killed');
    try {
      tell();
    } catch (error) {
      isDead = true;
      throw error;
    }
    return then();
  };
  const watching = (session: Session): Session => ({
    query: async (sql, parameters) => {
      if (sql.startsWith('LOCK TABLE "_duet_duties"')) await raising?.();
      const [table] = parameters ?? [];
      if (sql.startsWith('INSERT INTO "_duet_duties"') && table !== '_write log') isRaised = true;
      return alive(
        () => statement?.(isHeld, ++statements, sql),
        () => session.query(sql, parameters),
      );
    },
    transaction: async (inner) => {
      const result = await alive(
        () => {},
        () => session.transaction(inner),
      );
      if (isRaised && !isHeld) [isHeld, programs, statements] = [true, 0, 0];
      return result;
    },
    load: async (given) =>
      alive(
        () => program?.(isHeld, ++programs),
        () =>
          session.load(function* () {
            const running = given();
            for (let step = running.next(); !step.done; ) {
              asked?.(isHeld, step.value);
              let rows: readonly Row[][];
              try {
                rows = yield step.value;
              } catch (error) {
                step = running.throw(error);
                continue;
              }
              step = running.next(rows);
            }
          }),
      ),
  });
  const evolvable: Evolvable = {
    ddl: database.ddl,
    looking: (work) => database.looking(work),
    exclusively: async (work) => {
      if (!isDead) await turn?.(++turns);
      return database.exclusively((session) => work(watching(session)));
    },
  };
  try {
    await evolve(evolvable, model, function* () {});
  } finally {
    await database.close();
  }
}

/** What an evolution has left of what tells it of the writes of others. */
export async function leftOfLog(deployment: Deployment): Promise<unknown[]> {
  const made =
    deployment.kind === 'sqlite'
      ? `SELECT name FROM sqlite_schema WHERE name LIKE '%duet_written%'`
      : `SELECT relname AS name FROM pg_class WHERE relname LIKE '%duet_written%'
         UNION ALL SELECT tgname FROM pg_trigger WHERE tgname LIKE '%duet_written%'
         UNION ALL SELECT proname FROM pg_proc WHERE proname LIKE '%duet_written%'`;
  const noted = `SELECT "table" FROM "_duet_duties" WHERE "table" = '_write log'`;
  return [...(await deployment.sql(made)), ...(await deployment.sql(noted))];
}
