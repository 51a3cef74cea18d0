/** `duet key`: makes, lists and revokes API keys. */

import { faulting, openDeployment, StartFault } from '../../app/deployment.ts';
import type { Observe } from '../../base/observe.ts';
import type { Config } from '../../config/config.ts';
import { ApiKeys, KEY_NAME, type KeyEntry } from '../../engine/api-keys.ts';
import { splitWords } from '../options.ts';

const USAGE = 'use `key create --name NAME [--role ROLE …]`, `key list` or `key revoke NAME`';
const VALUED = ['--name', '--role'];

interface Output {
  /** The result: of `create`, the key and nothing else, for scripts. */
  readonly write: (line: string) => void;
  /** Words for people. */
  readonly tell: (line: string) => void;
}

export function splitKeyArguments(args: readonly string[]): { own: string[]; rest: string[] } {
  return splitWords(args, VALUED);
}

export async function keyCommand(
  own: readonly string[],
  config: Config,
  observe: Observe,
  { write, tell }: Output,
): Promise<void> {
  const work = readWords(own);
  if (config.database.kind === 'sqlite' && config.database.path === ':memory:')
    throw new StartFault('a database in memory keeps no keys: DATABASE_URL names another');
  const { database } = await openDeployment(config, observe);
  try {
    const keys = new ApiKeys(database);
    // Makes the table where no server has yet.
    await faulting(() => database.exclusively(async () => {}));
    if (work.do === 'list') for (const key of await keys.list()) write(line(key));
    else if (work.do === 'revoke') {
      if (!(await keys.revoke(work.name)))
        throw new StartFault(`there is no key "${work.name}" in use. \`duet key list\` lists them`);
      tell(`Revoked. Servers refuse it within a few seconds.`);
    } else {
      const key = await keys.create(work.name, work.roles);
      if (key === undefined)
        throw new StartFault(
          `there is a key "${work.name}" already: revoke it first, or choose another name`,
        );
      write(key);
      tell('Keep it well: only its hash is stored, and it is not shown again.');
    }
  } finally {
    await database.close();
  }
}

type Work =
  | { readonly do: 'list' }
  | { readonly do: 'revoke'; readonly name: string }
  | { readonly do: 'create'; readonly name: string; readonly roles: readonly string[] };

function readWords(own: readonly string[]): Work {
  const [action, ...operands] = own.filter((word) => !word.startsWith('-'));
  const valued = (flag: string) =>
    own.filter((word) => word.startsWith(`${flag}=`)).map((word) => word.slice(flag.length + 1));
  const [names, roles] = [valued('--name'), valued('--role')];
  if (action === 'list' && operands.length + names.length + roles.length === 0) return { do: 'list' };
  const [name] = action === 'revoke' ? [...operands, ...names] : names;
  const alone = operands.length + names.length === 1;
  if (name === undefined || !alone || (action !== 'revoke' && action !== 'create'))
    throw new StartFault(USAGE);
  if (action === 'revoke') return { do: 'revoke', name };
  for (const word of [name, ...roles])
    if (!KEY_NAME.test(word))
      throw new StartFault(
        `"${word}" must have 1 to 64 letters, digits, ".", "_" or "-", and begin with a letter or digit`,
      );
  return { do: 'create', name, roles };
}

function line({ name, roles, at, revoked }: KeyEntry): string {
  return [
    name,
    roles.join(' ') || '(no roles)',
    `created ${at}`,
    revoked ? `revoked ${revoked}` : 'in use',
  ].join('\t');
}
