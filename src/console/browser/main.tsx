/** The console begins here: it asks the service what it serves, and shows the place that the address names. */

import { signal } from '@preact/signals';
import { render } from 'preact';
import { useEffect } from 'preact/hooks';
import { place } from './address.ts';
import type { Fault } from './doors/wire.ts';
import { loadSchema } from './schema/load.ts';
import type { Schema } from './schema/types.ts';
import { token } from './session.ts';
import { FaultNotice } from './views/parts.tsx';
import { Shell } from './views/shell.tsx';
import { View } from './views/view.tsx';

const schema = signal<Schema | undefined>(undefined);
const fault = signal<Fault | undefined>(undefined);

async function load(): Promise<void> {
  try {
    schema.value = await loadSchema();
    fault.value = undefined;
  } catch (error) {
    fault.value = error as Fault;
  }
}

function App() {
  const known = schema.value;
  // Whoever comes with another token may be told of another schema.
  useEffect(() => {
    load();
  }, [token.value]);
  return (
    <Shell schema={known}>
      {fault.value ? (
        <FaultNotice fault={fault.value} again={load} />
      ) : (
        known && <View schema={known} place={place.value} />
      )}
    </Shell>
  );
}

const root = document.getElementById('app');
if (root) render(<App />, root);
