/** `duet types`: writes `duet.gen.ts` beside the schema file, the types that `logic.ts` is written with. */

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type FileSettings, readModelOrFaults, StartFault } from '../../app/deployment.ts';
import type { Config } from '../../config/config.ts';
import { logicTypes } from '../../typescript/logic.ts';
import { logicPlace } from '../sources.ts';

export const TYPES_CHECK = '--check';

const FILE = 'duet.gen.ts';

export async function types(
  config: Config,
  print: (line: string) => void,
  onlyCheck: boolean,
): Promise<void> {
  const file = typesFile(config);
  const text = generated(config);
  const isCurrent = existsSync(file) && readFileSync(file, 'utf8') === text;
  if (isCurrent) return print(`${file} is up to date.`);
  if (onlyCheck) throw new StartFault(`${file} is out of date. Run: duet types`);
  writeFileSync(file, text);
  print(`wrote ${file}`);
}

/** Where somebody uses them, the types follow the schema file. Faults of that are told by whoever serves it. */
export function followTypes(config: Config): void {
  if (!existsSync(config.schema)) return;
  const file = typesFile(config);
  const { model } = readModelOrFaults(config, undefined, () => true);
  if (!model || !(existsSync(file) || isImported(config))) return;
  const text = logicTypes(model);
  if (!existsSync(file) || readFileSync(file, 'utf8') !== text) writeFileSync(file, text);
}

function isImported(config: FileSettings): boolean {
  const file = logicPlace(config);
  return existsSync(file) && readFileSync(file, 'utf8').includes(FILE);
}

function typesFile({ schema }: FileSettings): string {
  return join(dirname(schema), FILE);
}

/** The functions need not be there yet: these are the types to write them with. */
function generated(config: FileSettings): string {
  const { model, faults } = readModelOrFaults(config, undefined, () => true);
  if (!model) throw new StartFault(faults.join('\n'));
  return logicTypes(model);
}
