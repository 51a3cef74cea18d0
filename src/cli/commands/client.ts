/** `duet client`: prints the typed client of the schema file. */

import { readModelOrFaults, StartFault } from '../../app/deployment.ts';
import { clientText } from '../../client/client.ts';
import type { Config } from '../../config/config.ts';

export async function client(config: Config, print: (line: string) => void): Promise<void> {
  // What functions fill in is known to them alone, and they need not be there.
  const { model, faults } = readModelOrFaults(config, undefined, () => true);
  if (!model) throw new StartFault(faults.join('\n'));
  const own = model.actions.length > 0 ? ['actions', 'transaction'] : ['transaction'];
  const clash = model.resources.find(({ rest, plural }) => rest && own.includes(plural));
  if (clash)
    throw new StartFault(
      `the client has ${clash.plural} of its own, which is the plural of ${clash.name}. Choose another: @resource(plural: "…")`,
    );
  print(clientText(model));
}
