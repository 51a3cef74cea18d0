/** The console begins here: it asks the service what it serves, and shows the place that the address names. */

import { render } from 'preact';
import { useEffect } from 'preact/hooks';
import { place } from './address.ts';
import { findMe } from './operate.ts';
import { fileFaults, followFile } from './schema/file.ts';
import { refresh, schema, schemaFault } from './schema/load.ts';
import { token } from './session.ts';
import { FaultNotice, FileNotice } from './views/parts.tsx';
import { Shell } from './views/shell.tsx';
import { View } from './views/view.tsx';
import { ViewingNotice } from './views/viewing.tsx';

function App() {
  const known = schema.value;
  // Whoever comes with another token may be told of another schema.
  useEffect(() => {
    refresh();
    findMe();
  }, [token.value]);
  return (
    <Shell schema={known}>
      <ViewingNotice />
      {fileFaults.value.length > 0 && <FileNotice faults={fileFaults.value} />}
      {schemaFault.value && <FaultNotice fault={schemaFault.value} again={refresh} />}
      {known && <View schema={known} place={place.value} />}
    </Shell>
  );
}

const root = document.getElementById('app');
if (root) render(<App />, root);
void followFile();
