/** `duet journal erase Book 1`: takes what a record was out of the journal, for those who ask to be forgotten. */

import { faulting, openDeployment, StartFault } from '../../app/deployment.ts';
import type { Observe } from '../../base/observe.ts';
import type { Config } from '../../config/config.ts';
import { Journal } from '../../engine/journal/journal.ts';
import { eraseDeliveries } from '../../engine/webhooks/operator.ts';
import { didYouMean } from '../../schema/suggest.ts';

export const JOURNAL_USAGE = 'journal erase TYPE KEY';

/** The words before the first option. */
export function splitJournalArguments(args: readonly string[]): { own: string[]; rest: string[] } {
  const first = args.findIndex((word) => word.startsWith('-'));
  const leading = first === -1 ? args.length : first;
  return { own: args.slice(0, leading), rest: args.slice(leading) };
}

export async function journalCommand(
  own: readonly string[],
  config: Config,
  observe: Observe,
  tell: (line: string) => void,
): Promise<void> {
  const [action, type, key, ...more] = own;
  if (action !== 'erase' || type === undefined || key === undefined || more.length > 0)
    throw new StartFault(`use \`duet ${JOURNAL_USAGE}\`, such as \`duet journal erase Book 1\``);
  const { model, database } = await openDeployment(config, observe);
  try {
    const resource = model.byType.get(type);
    if (!resource) {
      const cure = didYouMean(type, model.byType.keys());
      throw new StartFault(`the schema has no type "${type}".${cure}`);
    }
    await faulting(() => database.exclusively(async () => {}));
    const journal = new Journal(database, model);
    const erased = await journal.erase(resource, key);
    await eraseDeliveries(journal, resource, key);
    if (erased === 0) throw new StartFault(`the journal has nothing of ${type} ${key}`);
    tell(`Erased what ${type} ${key} was, in ${erased} ${erased === 1 ? 'change' : 'changes'}.`);
  } finally {
    await database.close();
  }
}
