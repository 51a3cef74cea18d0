/** The typed client of a schema, printed and loaded as its users do, for an application under test. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clientText } from '../../src/client/client.ts';
import { readSchema } from '../../src/schema/read.ts';
import type { Doors } from '../app.ts';

const ORIGIN = 'http://duet.test';

/** What functions fill in is there, whatever they are. */
export async function printedClient(sdl: string): Promise<(app: Pick<Doors, 'fetch'>) => any> {
  const { model, faults } = readSchema(sdl, undefined, () => true);
  if (!model) throw new Error(faults.map(({ message }) => message).join('\n'));
  const folder = mkdtempSync(join(tmpdir(), 'duet-client-'));
  const file = join(folder, 'duet.ts');
  writeFileSync(file, clientText(model));
  const { duet } = await import(file).finally(() => rmSync(folder, { recursive: true }));
  return (app) =>
    duet(ORIGIN, { fetch: (url: string, init: RequestInit) => app.fetch(url.slice(ORIGIN.length), init) });
}
