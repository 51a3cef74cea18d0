/** Asks before changes are lost that nobody has saved. */

import { leaving, release } from '../address.ts';
import { Dialog } from './parts.tsx';

export function LeaveDialog() {
  const where = leaving.value;
  if (!where) return null;
  const stay = () => {
    leaving.value = undefined;
  };
  const discard = () => {
    stay();
    release();
    where();
  };
  return (
    <Dialog title="Discard changes?" onClose={stay}>
      <p>What you have typed here is not saved.</p>
      <div class="actions">
        <button type="button" class="primary" onClick={stay}>
          Keep editing
        </button>
        <button type="button" class="danger" onClick={discard}>
          Discard changes
        </button>
      </div>
    </Dialog>
  );
}
