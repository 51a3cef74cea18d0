/** A node that evolves a database while a test looks on, or ends it. */

import { readConfig } from '../../src/config/config.ts';
import type { Evolvable, Session } from '../../src/storage/evolve/database.ts';
import { evolve } from '../../src/storage/evolve/evolve.ts';
import { openDatabase } from '../../src/storage/open.ts';
import { databaseSettings } from '../app.ts';
import { type Deployment, modelOf } from './deployment.ts';

/**
 * Evolves as a node does, and calls back before each turn that it has alone, and before each program, of which it says whether
 * writers are held to it by then. A callback that throws is the node's end.
 */
export async function watched(
  deployment: Deployment,
  sdl: string,
  turn: (turn: number) => Promise<void>,
  load: (isHeld: boolean, load: number) => void = () => {},
  model = modelOf(sdl),
): Promise<void> {
  const { config } = readConfig([], await databaseSettings(deployment.url));
  if (!config) throw new Error(deployment.url);
  const database = openDatabase(config, model);
  let [turns, loads, isHeld, isDead] = [0, 0, false, false];
  const alive = <T>(then: () => T): T => {
    if (isDead) throw new Error('killed');
    return then();
  };
  const watching = (session: Session): Session => ({
    query: async (sql, ...more) => {
      if (sql.startsWith('INSERT INTO "_duet_duties"') && !isHeld) [isHeld, loads] = [true, 0];
      return alive(() => session.query(sql, ...more));
    },
    transaction: async (inner) => alive(() => session.transaction(inner)),
    load: async (program) => {
      try {
        load(isHeld, ++loads);
      } catch (error) {
        isDead = true;
        throw error;
      }
      return alive(() => session.load(program));
    },
  });
  const evolvable: Evolvable = {
    ddl: database.ddl,
    looking: (work) => database.looking(work),
    exclusively: async (work) => {
      await turn(++turns);
      return database.exclusively((session) => work(watching(session)));
    },
  };
  try {
    await evolve(evolvable, model, function* () {});
  } finally {
    await database.close();
  }
}
