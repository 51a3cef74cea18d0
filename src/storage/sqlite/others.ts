/** Whether other processes have written to a SQLite file since it was looked last. */

import type { Database } from 'bun:sqlite';

export class Others {
  readonly #database: Database;
  #version: unknown;
  #schema: unknown;

  constructor(database: Database) {
    this.#database = database;
  }

  /** What they have changed: only rows, or tables and indexes too. */
  look(): 'nothing' | 'rows' | 'schema' {
    const version = this.#number('PRAGMA data_version');
    if (version === this.#version) return 'nothing';
    const schema = this.#number('PRAGMA schema_version');
    // EXPLAIN tells of the schema as this connection has read it, and it reads it anew when it runs something.
    if (schema !== this.#schema) this.#number('SELECT COUNT(*) FROM sqlite_schema');
    const what = schema === this.#schema ? 'rows' : 'schema';
    // Not before: what could not be looked at is looked at again.
    this.#version = version;
    this.#schema = schema;
    return what;
  }

  #number(sql: string): unknown {
    const [[number] = []] = this.#database.query(sql).values();
    return number;
  }
}
