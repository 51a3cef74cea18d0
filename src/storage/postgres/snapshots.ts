/** Moments of PostgreSQL that are read from again and again, for downloads of any length. */

import { tooManyExports } from '../faults.ts';
import type { Snapshot } from '../storage.ts';
import { explained } from './errors.ts';
import type { Connection } from './pool.ts';
import type { Runner } from './runner.ts';
import type { Server } from './server.ts';
import { SNAPSHOT } from './transaction.ts';

/** Each on a connection of its own: a slow reader must not keep one of the pool's. */
export class Snapshots {
  readonly #server: Server;
  readonly #runner: Runner;
  readonly #most: number;
  #open = 0;

  constructor(server: Server, runner: Runner, most: number) {
    this.#server = server;
    this.#runner = runner;
    this.#most = most;
  }

  async open(): Promise<Snapshot> {
    if (this.#open >= this.#most) throw tooManyExports();
    this.#open++;
    const end = (connection?: Connection) => {
      this.#open--;
      connection?.close();
    };
    const connection = await this.#server.connect().catch((error) => {
      end();
      throw explained(error);
    });
    try {
      await connection.patiently(connection.send(SNAPSHOT));
    } catch (error) {
      end(connection);
      throw explained(error);
    }
    return {
      run: async (program) => {
        // A statement that fails ends the transaction, and with it the snapshot; what was too much is asked for in parts.
        const begun = connection.send('SAVEPOINT "_page"');
        begun.catch(() => {});
        try {
          const result = await this.#runner.drive(connection, program());
          connection.send('RELEASE "_page"').catch(() => connection.close());
          return result;
        } catch (error) {
          if (!connection.lost)
            for (const back of ['ROLLBACK TO "_page"', 'RELEASE "_page"'])
              connection.send(back).catch(() => connection.close());
          throw explained(error);
        }
      },
      close: async () => end(connection),
    };
  }
}
