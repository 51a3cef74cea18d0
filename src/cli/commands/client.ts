/** `duet client`: prints the typed client of the schema file, or of a server that runs. */

import { readModelOrFaults, StartFault } from '../../app/deployment.ts';
import { clientFault, clientText } from '../../client/client.ts';
import type { Config } from '../../config/config.ts';

export const FROM_OPTION = '--from';

export async function client(
  config: Config,
  from: readonly string[],
  print: (line: string) => void,
): Promise<void> {
  if (from.length > 1) throw new StartFault(`${FROM_OPTION} takes one address`);
  print(from[0] === undefined ? ofFile(config) : await ofServer(from[0]));
}

function ofFile(config: Config): string {
  // What functions fill in is known to them alone, and they need not be there.
  const { model, faults } = readModelOrFaults(config, undefined, () => true);
  const fault = model ? clientFault(model) : faults.join('\n');
  if (!model || fault !== undefined) throw new StartFault(fault ?? '');
  return clientText(model);
}

/** As the server prints it, so that it fits the version that runs there. */
async function ofServer(address: string): Promise<string> {
  if (!/^https?:/.test(address) || !URL.canParse(address))
    throw new StartFault(`${FROM_OPTION} must be the address of a server, such as http://localhost:4000`);
  const url = `${address.replace(/\/+$/, '')}/client.ts`;
  const response = await fetch(url).catch((error: unknown) => {
    const why = error instanceof Error ? error.message : String(error);
    throw new StartFault(`cannot reach ${url} (${why}). Is it the address of a server that runs?`);
  });
  const text = await response.text();
  if (response.ok) return text;
  throw new StartFault(
    `${url} answered ${response.status}: ${detailOf(text) ?? 'it tells no client'}. INTROSPECTION must be on there; \`duet client\` beside the schema file needs no server`,
  );
}

/** What the server says is wrong. */
function detailOf(text: string): string | undefined {
  try {
    const { detail } = JSON.parse(text) as { detail?: unknown };
    return typeof detail === 'string' ? detail.replace(/\.$/, '') : undefined;
  } catch {
    return undefined;
  }
}
