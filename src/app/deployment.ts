/** A deployment's files and database, as every command needs them. */

import { isUtf8 } from 'node:buffer';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { accessRules } from '../access/faults.ts';
import type { Observe } from '../base/observe.ts';
import type { Tracer } from '../base/tracer.ts';
import { type Config, documentLimits } from '../config/config.ts';
import { loading } from '../engine/transfer/load.ts';
import { Documents } from '../graphql/documents.ts';
import type { Door } from '../graphql/schema.ts';
import { readManifest, refuseUnsound, type Trusted } from '../graphql/trusted.ts';
import type { Model } from '../schema/model.ts';
import { readSchema } from '../schema/read.ts';
import { type Evolution, evolve } from '../storage/evolve/evolve.ts';
import { type Database, openDatabase } from '../storage/open.ts';
import type { OtherWriters } from '../storage/sqlite/other-writers.ts';
import type { Program } from '../storage/storage.ts';
import type { Trace } from '../storage/trace.ts';
import { statementProcess } from './self.ts';
import { commentOfScope } from './spans.ts';
import { statementTrace } from './statement-reports.ts';

/** Something the operator must mend before a command can do its work; the message says what and where. */
export class StartFault extends Error {}

interface Opening {
  /** Leaves everything as it is, not only the tables. */
  readonly readOnly?: boolean;
  /** Duet is a part of another program, which gives this. */
  readonly given?: Given | undefined;
  readonly tracer?: Tracer | undefined;
  readonly others?: OtherWriters | undefined;
  /** Read before; otherwise the schema file is read. */
  readonly model?: Model;
}

/** Records by the plurals of their types. */
export type Records = Readonly<Record<string, readonly object[]>>;

/** What a program can give instead of files. */
export interface Given {
  readonly sdl: string | undefined;
  readonly records: Records | undefined;
  /** What a file of functions exports. */
  readonly logic: object | undefined;
}

/** Reads the schema file and opens the database, but leaves its tables as they are. */
export async function openDeployment(
  config: Config,
  observe: Observe,
  opening: Opening = {},
): Promise<{ model: Model; database: Database }> {
  const model = opening.model ?? readModel(config);
  const database = open(config, model, statementTrace(config, observe, opening.tracer), opening);
  const tell = (message: string) => observe({ event: 'notice', message });
  if (opening.given && config.database.kind === 'sqlite' && !statementProcess(true))
    tell(
      'duet-server was built into another file: long reads and writes on SQLite make others wait. Leave it external',
    );
  await faulting(async () => database.reach?.(config.databaseWait, tell));
  return { model, database };
}

function open(
  config: Config,
  model: Model,
  trace: Trace | undefined,
  { readOnly = false, given, tracer, others }: Opening,
): Database {
  try {
    return openDatabase(config, model, trace, {
      readOnly,
      apart: statementProcess(given !== undefined),
      others,
      comment: tracer && commentOfScope,
    });
  } catch (error) {
    const folder = config.database.kind === 'sqlite' ? dirname(config.database.path) : '.';
    if (existsSync(folder))
      throw new StartFault(`cannot open the database (${why(error)}). DATABASE_URL names another`);
    throw new StartFault(
      `there is no folder ${folder} for the database. Make it, or name another with DATABASE_URL`,
    );
  }
}

/** The documents that clients may name, all of them sound; undefined when there is no such file. */
export async function readTrusted(config: Config, door: Door | undefined): Promise<Trusted | undefined> {
  const { trustedDocuments: file, trustedDocumentsOnly, introspection } = config;
  if (file === null || !door) return undefined;
  return faulting(async () => {
    const documents = readManifest(file, readText(file, 'TRUSTED_DOCUMENTS'));
    refuseUnsound(
      file,
      documents,
      new Documents(door, introspection === 'on', documentLimits(config), config.limitObjects),
    );
    return { documents, only: trustedDocumentsOnly === 'on' };
  });
}

/** Brings the tables to what the file asks for; a new database gets the records of the data file. */
export async function evolveDeployment(
  config: Config,
  model: Model,
  database: Database,
  { insists = false, given }: { readonly insists?: boolean; readonly given?: Given | undefined } = {},
): Promise<Evolution> {
  return faulting(() => evolve(database, model, () => firstRecords(config, model, given), insists));
}

/** Whatever goes wrong before the work begins is the operator's to mend, and is told without a stack. */
export async function faulting<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof StartFault ? error : new StartFault(why(error), { cause: error });
  }
}

function why(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The settings that say where the files are. */
export type FileSettings = Pick<Config, 'schema' | 'logic' | 'given'>;

/** Undefined when there is none, or none is wanted. A schema that is given as text lies beside nothing. */
export function logicFile({ schema, logic, given }: FileSettings, sdl?: string): string | undefined {
  if (given.has('logic')) return logic ?? undefined;
  const beside = join(dirname(schema), 'logic.ts');
  return sdl === undefined && existsSync(beside) ? beside : undefined;
}

/** The schema file, whose every rule holds. Where nobody looks into `logic.ts`, it may fill in whatever it likes. */
export function readModel(config: FileSettings): Model {
  const isFilled = logicFile(config) !== undefined;
  const { model, faults } = readModelOrFaults(config, undefined, () => isFilled);
  if (model) return model;
  throw new StartFault(faults.join('\n'));
}

export function readModelOrFaults(
  { schema }: Pick<Config, 'schema'>,
  sdl: string | undefined,
  fills: (type: string) => boolean,
): { readonly model?: Model; readonly faults: readonly string[] } {
  const { model, faults } = readSchema(
    sdl ?? readText(schema, '`duet init` writes one to begin with, and DUET_SCHEMA'),
    accessRules,
    fills,
  );
  if (model) return { model, faults: [] };
  const file = sdl === undefined ? schema : 'schema';
  return { faults: faults.map(({ line, column, message }) => `${file}:${line}:${column} ${message}`) };
}

/** Read only when it is needed: the file of a database that exists may be long out of date. */
function* firstRecords(config: Config, model: Model, given: Given | undefined): Program<void> {
  const isGiven = config.given.has('data');
  if (given?.records) yield* load(model, given.records, 'data');
  // A program names its file, and may be started in any folder.
  else if (isGiven || (!given && existsSync(config.data)))
    yield* load(model, readData(config.data), config.data);
}

function readData(file: string): unknown {
  const text = readText(file, 'DUET_DATA');
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new StartFault(`${file} is not valid JSON: ${why(error)}`);
  }
}

function load(model: Model, data: unknown, file: string): Program<void> {
  const { program, faults } = loading(model, data);
  if (!program) throw new StartFault(faults.map((fault) => `${file}: ${fault}`).join('\n'));
  return program();
}

function readText(file: string, setting: string): string {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    throw new StartFault(`cannot read ${file} (${why(error)}). ${setting} names another file`);
  }
  // What is none would become U+FFFD without a word, and be stored so.
  if (!isUtf8(bytes)) throw new StartFault(`${file} is not UTF-8; save it as UTF-8`);
  return bytes.toString();
}
