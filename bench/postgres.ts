/** The PostgreSQL of a run: durable as it comes, with an empty database for whoever needs one. */

import { Postgres } from '../test/postgres.ts';

export class Databases {
  readonly #postgres: Postgres;
  readonly #admin: Bun.SQL;
  readonly #urls: string[] = [];

  private constructor(postgres: Postgres) {
    this.#postgres = postgres;
    this.#admin = new Bun.SQL(postgres.url(), { max: 1 });
  }

  static async start(): Promise<Databases> {
    return new Databases(await Postgres.start({ durable: true }));
  }

  /** The URL of a new one. */
  async make(): Promise<string> {
    const url = await this.#postgres.database();
    this.#urls.push(url);
    return url;
  }

  /** Gathers the statistics for which the server would take a minute by itself. */
  async analyze(): Promise<void> {
    for (const url of this.#urls) {
      const sql = new Bun.SQL(url, { max: 1 });
      await sql.unsafe('ANALYZE');
      await sql.close();
    }
  }

  /** Whether a statement is under way; a server may wait for one without using the processor. */
  async busy(): Promise<boolean> {
    const [found] = await this.#admin`SELECT EXISTS (
      SELECT FROM pg_stat_activity
      WHERE backend_type = 'client backend' AND state <> 'idle' AND pid <> pg_backend_pid()
    ) AS busy`;
    return found.busy;
  }

  async end(): Promise<void> {
    await this.#admin.close();
    await this.#postgres.end();
  }
}
