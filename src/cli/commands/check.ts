/** `duet check`: what is wrong with the schema file and with `logic.ts`, without a database. */

import { readFiles } from '../../app/logic.ts';
import type { Config } from '../../config/config.ts';

export async function check(config: Config, print: (line: string) => void): Promise<void> {
  const { model, logic } = await readFiles(config);
  const types = `${model.resources.length} ${model.resources.length === 1 ? 'resource' : 'resources'}`;
  print(`${config.schema}: ${types}${logic ? `; functions of ${namesOf(logic)}` : ''}. Nothing is wrong.`);
}

function namesOf({ types }: NonNullable<Awaited<ReturnType<typeof readFiles>>['logic']>): string {
  return [...types.keys()].map(({ name }) => name).join(', ') || 'nothing';
}
