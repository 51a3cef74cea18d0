/** `duet check`: what is wrong with the schema file and with `logic.ts`, without a database. */

import { readFiles } from '../../app/logic.ts';
import type { Config } from '../../config/config.ts';
import type { Logic } from '../../engine/logic/logic.ts';

export async function check(config: Config, print: (line: string) => void): Promise<void> {
  const { model, logic } = await readFiles(config);
  const types = `${model.resources.length} ${model.resources.length === 1 ? 'resource' : 'resources'}`;
  print(`${config.schema}: ${types}${logic ? `; functions of ${namesOf(logic)}` : ''}. Nothing is wrong.`);
}

function namesOf({ types, after, actions, schedules, routes }: Logic): string {
  const named = new Set([...types.keys(), ...after.keys()].map(({ name }) => name));
  const acting = [...actions.keys()].map(({ root, name }) => `${root}.${name}`);
  const alone = [
    ...schedules.map(({ name }) => name),
    ...routes.map(({ method, path }) => `${method} ${path}`),
  ];
  return [...named, ...acting, ...alone].join(', ') || 'nothing';
}
