/** A database that outlives the apps that are opened on it, for tests of what schemas do to it one after another. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../../src/config/config.ts';
import { loading } from '../../src/engine/transfer/load.ts';
import type { Model } from '../../src/schema/model.ts';
import { readSchema } from '../../src/schema/read.ts';
import { type Evolution, evolve, load, preview } from '../../src/storage/evolve/evolve.ts';
import { prune } from '../../src/storage/evolve/prune.ts';
import { type Database, openDatabase } from '../../src/storage/open.ts';
import { type AppUnderTest, type DatabaseKind, databaseSettings, openApp, preparedPostgres } from '../app.ts';

export function modelOf(sdl: string): Model {
  const { model, faults } = readSchema(sdl);
  if (!model) throw new Error(faults.map(({ line, message }) => `${line}: ${message}`).join('\n'));
  return model;
}

export class Deployment implements AsyncDisposable {
  readonly kind: DatabaseKind;
  readonly url: string;
  readonly #folder: string;
  /** The SQL of every statement that a program has run. */
  readonly statements: string[] = [];

  private constructor(kind: DatabaseKind, url: string, folder: string) {
    this.kind = kind;
    this.url = url;
    this.#folder = folder;
  }

  static async create(kind: DatabaseKind): Promise<Deployment> {
    const folder = mkdtempSync(join(tmpdir(), 'duet-evolution-'));
    const url = kind === 'sqlite' ? `sqlite:${join(folder, 'test.db')}` : await preparedPostgres();
    return new Deployment(kind, url, folder);
  }

  async evolve(sdl: string, data: unknown = {}, insists = false): Promise<Evolution> {
    const model = modelOf(sdl);
    const { program, faults } = loading(model, data);
    if (!program) throw new Error(faults.join('\n'));
    return this.#with(model, (database) => evolve(database, model, program, insists));
  }

  /** As `duet migrate` does. */
  migrate(sdl: string): Promise<Evolution> {
    return this.evolve(sdl, {}, true);
  }

  /** The lines of the refusal, or none when everything was applied. */
  async refusals(sdl: string, insists = false): Promise<string[]> {
    return this.evolve(sdl, {}, insists).then(
      () => [],
      (error) => error.message.split('\n'),
    );
  }

  async preview(sdl: string) {
    const model = modelOf(sdl);
    return this.#with(model, (database) => preview(database, model));
  }

  async prune(sdl: string, shown: readonly string[]): Promise<readonly string[]> {
    const model = modelOf(sdl);
    return this.#with(model, (database) => prune(database, model, shown));
  }

  /** Stores records, as an import does. */
  async load(sdl: string, data: unknown): Promise<void> {
    const model = modelOf(sdl);
    const { program, faults } = loading(model, data);
    if (!program) throw new Error(faults.join('\n'));
    await this.#with(model, (database) => load(database, program));
  }

  app(sdl: string): Promise<AppUnderTest> {
    return openApp(this.kind, { sdl, url: this.url });
  }

  /** Opens the app for one piece of work. */
  async using<T>(sdl: string, work: (app: AppUnderTest) => Promise<T>): Promise<T> {
    const app = await this.app(sdl);
    try {
      return await work(app);
    } finally {
      await app.close();
    }
  }

  /** The records of every resource, as REST shows them. */
  async records(sdl: string): Promise<Record<string, any[]>> {
    return this.using(sdl, async (app) => {
      const found: Record<string, any[]> = {};
      for (const { plural, path } of modelOf(sdl).resources)
        found[plural] = (await app.rest('GET', `/${path}`)).body;
      return found;
    });
  }

  /** Speaks SQL as another program would. */
  async sql(text: string): Promise<any[]> {
    const sql = new Bun.SQL(this.url, { max: 1 });
    try {
      return [...(await sql.unsafe(text))];
    } finally {
      await sql.close();
    }
  }

  async history(): Promise<{ at: string; schema: string; steps: string[] }[]> {
    const rows = await this.sql('SELECT "at", "schema", "steps" FROM "_duet_history" ORDER BY "id"');
    return rows.map(({ at, schema, steps }) => ({ at, schema, steps: JSON.parse(steps) }));
  }

  async #with<T>(model: Model, work: (database: Database) => Promise<T>): Promise<T> {
    const { config, fault } = readConfig([], await databaseSettings(this.url));
    if (!config) throw new Error(fault);
    const database = openDatabase(config, model, (sql) => void this.statements.push(sql));
    try {
      return await work(database);
    } finally {
      await database.close();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    rmSync(this.#folder, { recursive: true });
  }
}
