/** The console begins here: it asks the service what it serves, and shows the place that the address names. */

import { render } from 'preact';
import { place } from './address.ts';
import { findMe, me } from './operate.ts';
import { isGone, returns, watch } from './presence.ts';
import { file, followFile, isWaiting, readFile } from './schema/file.ts';
import { refresh, schema, schemaFault } from './schema/load.ts';
import { token } from './session.ts';
import { tell } from './told.ts';
import { beside } from './views/beside.ts';
import { CallerNotice } from './views/caller.tsx';
import { GoneNotice } from './views/gone.tsx';
import { later } from './views/later.tsx';
import { FaultNotice, Loading } from './views/parts.tsx';
import { Shell } from './views/shell.tsx';
import { View } from './views/view.tsx';

const Begin = later(beside, 'Begin');
const FileNotice = later(beside, 'FileNotice');

function App() {
  const isFileAll = isWaiting.value;
  const known = schema.value;
  return (
    <Shell schema={isFileAll ? undefined : known}>
      <GoneNotice />
      <CallerNotice />
      {isFileAll && <Begin state={file.value} />}
      {!isFileAll && (file.value.faults?.length ?? 0) > 0 && <FileNotice state={file.value} />}
      {!isFileAll && schemaFault.value && <FaultNotice fault={schemaFault.value} again={refresh} />}
      {/* Out of sight where the file is all: what was typed there stays. */}
      {known ? <View schema={known} place={place.value} /> : !isFileAll && !schemaFault.value && <Loading />}
    </Shell>
  );
}

/** Nobody waits longer than this without a word. */
const LONGEST_MS = 3000;

/** What the page came with is there to be read, until there is more to see. */
async function begin(root: HTMLElement) {
  const ask = () => {
    void findMe();
    return refresh();
  };
  // A page that came without places may have nothing to serve yet: then nothing else is asked.
  const asked = root.querySelector('.side *') && ask();
  await followFile();
  if (!isWaiting.value)
    await Promise.race([asked ?? ask(), new Promise((resolve) => setTimeout(resolve, LONGEST_MS))]);
  root.replaceChildren();
  render(<App />, root);
}

const root = document.getElementById('app');
if (root) void begin(root);
let wasWaiting = false;
// As long as there was nothing to serve, nobody could say who is asking.
isWaiting.subscribe((now) => {
  if (wasWaiting && !now) void findMe();
  wasWaiting = now;
});
/** Where there was nothing to serve when it went, what begins is told by the page itself. */
let wasServed = false;
isGone.subscribe((now) => {
  if (now) wasServed = !isWaiting.peek();
});
watch();
// It may have come back with another file. Views read anew what they show when they are told of the schema.
returns.subscribe(async (times) => {
  if (times === 0) return;
  const wasGone = isGone.peek() && wasServed;
  // Somebody may be working on the file: as long as it cannot be served, the page says so, and nothing else is back.
  if (file.peek().loads !== undefined) await readFile();
  if (isWaiting.peek()) return;
  if (wasGone) tell('The service is back.');
  void refresh();
  if (!me.peek()) void findMe();
});
let used = token.value;
// Whoever comes with another token may be told of another schema.
token.subscribe((now) => {
  if (now === used) return;
  used = now;
  void refresh();
  void findMe();
});
