/** Tells what was done, in a corner, to everybody. */

import { told } from '../told.ts';

export function Toast() {
  const now = told.value;
  const undo = now?.undo;
  return (
    <div class={now ? 'toast shown' : 'toast'} role="status">
      {now?.text}
      {undo && (
        <button
          type="button"
          aria-keyshortcuts="u"
          title="u"
          onClick={() => {
            told.value = undefined;
            undo();
          }}
        >
          Undo
        </button>
      )}
    </div>
  );
}
