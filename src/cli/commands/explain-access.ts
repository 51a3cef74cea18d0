/** `duet explain-access`: prints what the schema file lets a role do. */

import { explained } from '../../access/explain.ts';
import { readModel, StartFault } from '../../app/deployment.ts';
import type { Config } from '../../config/config.ts';

export const ROLE_OPTION = '--role';

export async function explainAccess(
  roles: readonly string[],
  config: Config,
  print: (line: string) => void,
): Promise<void> {
  if (roles.includes('')) throw new StartFault(`${ROLE_OPTION} needs the name of a role`);
  for (const line of explained(readModel(config), roles)) print(line);
}
