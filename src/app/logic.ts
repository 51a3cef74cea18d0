/** Reads the schema file and `logic.ts` together: what is wrong with either is told at once. */

import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { filledTypes, type Logic, readLogic } from '../engine/logic/logic.ts';
import type { Model } from '../schema/model.ts';
import { type FileSettings, type Given, logicFile, readModelOrFaults, StartFault } from './deployment.ts';

export interface Files {
  readonly model: Model;
  /** Undefined where there is no such file. */
  readonly logic: Logic | undefined;
}

export async function readFiles(config: FileSettings, given?: Pick<Given, 'sdl' | 'logic'>): Promise<Files> {
  const file = given?.logic ? 'logic' : logicFile(config, given?.sdl);
  const faults: string[] = [];
  let exported: unknown = given?.logic;
  if (file !== undefined && !exported)
    try {
      exported = await load(file);
    } catch (error) {
      if (!(error instanceof StartFault)) throw error;
      faults.push(error.message);
    }
  // What cannot be loaded may fill in anything.
  const fills = faults.length > 0 ? () => true : filledTypes(exported);
  const { model, faults: ofSchema } = readModelOrFaults(config, given?.sdl, fills);
  // What the schema file has functions for, misses them without the other file.
  const isNeeded =
    file !== undefined ||
    (model &&
      (model.actions.length > 0 ||
        model.resources.some(({ computed, recomputed }) => computed.length + recomputed.length > 0)));
  const read =
    isNeeded && faults.length === 0 ? readLogic(file === undefined ? {} : exported, model) : undefined;
  faults.unshift(...ofSchema);
  faults.push(...(read?.faults?.map((fault) => `${file ?? 'logic.ts'}: ${fault}`) ?? []));
  if (!model || faults.length > 0) throw new StartFault(faults.join('\n'));
  return { model, logic: read?.logic };
}

/** The schema file, with what `logic.ts` has for the writes of its types. */
export async function readStoring(config: FileSettings): Promise<Model> {
  return (await readFiles(config)).model;
}

async function load(file: string): Promise<unknown> {
  if (!existsSync(file)) throw new StartFault(`cannot read ${file}. DUET_LOGIC names another file`);
  try {
    const { default: exported } = await import(pathToFileURL(resolve(file)).href);
    return exported;
  } catch (error) {
    const told = toldOf(error);
    const cure = told.includes('duet.gen.ts') ? '. `duet types` writes that file' : '';
    throw new StartFault(`${file} cannot be loaded: ${told}${cure}`, { cause: error });
  }
}

/** A file that does not parse has all that is wrong with it in one error, with places. */
function toldOf(error: unknown): string {
  const errors: readonly unknown[] = error instanceof AggregateError ? error.errors : [error];
  return errors.map(placed).join('; ');
}

function placed(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('message' in error)) return String(error);
  const { message, position } = error as { message: string; position?: { line: number; column: number } };
  return position ? `${position.line}:${position.column} ${message}` : message;
}
