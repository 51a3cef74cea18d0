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
    this.#version = version;
    const schema = this.#number('PRAGMA schema_version');
    if (schema === this.#schema) return 'rows';
    this.#schema = schema;
    // EXPLAIN tells of the schema as this connection has read it, and it reads it anew when it runs something.
    this.#number('SELECT COUNT(*) FROM sqlite_schema');
    return 'schema';
  }

  #number(sql: string): unknown {
    const [[number] = []] = this.#database.query(sql).values();
    return number;
  }
}
