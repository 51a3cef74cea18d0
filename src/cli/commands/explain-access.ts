/** `duet explain-access`: prints what the schema file lets a role do. */

import { explained } from '../../access/explain.ts';
import { readModel, StartFault } from '../../app/deployment.ts';
import type { Config } from '../../config/config.ts';

const OPTION = '--role';

/** Takes the roles out of the arguments. */
export function splitRoles(args: readonly string[]): { own: string[]; rest: string[] } {
  const own: string[] = [];
  const rest: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? '';
    if (word === OPTION) own.push(args[++at] ?? '');
    else if (word.startsWith(`${OPTION}=`)) own.push(word.slice(OPTION.length + 1));
    else rest.push(word);
  }
  return { own, rest };
}

export async function explainAccess(
  roles: readonly string[],
  { schema }: Config,
  print: (line: string) => void,
): Promise<void> {
  if (roles.includes('')) throw new StartFault(`${OPTION} needs the name of a role`);
  for (const line of explained(readModel(schema), roles)) print(line);
}
