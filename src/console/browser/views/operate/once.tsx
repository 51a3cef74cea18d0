/** Something that is shown this once, and then kept by nobody here. */

import { Copy, Dialog } from '../parts.tsx';

interface OnceProps {
  title: string;
  about: string;
  secret: string;
  /** What the button that copies it says. */
  copy: string;
  onClose: () => void;
}

export function Once({ title, about, secret, copy, onClose }: OnceProps) {
  return (
    // A key that is hit by mistake must not be the end of what nobody has copied yet.
    <Dialog title={title} onEscape={() => {}} onClose={onClose}>
      <p>{about} Copy it now: it is not shown again.</p>
      <p class="secret">
        <code>{secret}</code> <Copy text={() => secret} label={copy} look="button" />
      </p>
      <div class="actions">
        <button type="button" class="primary" onClick={onClose}>
          Done
        </button>
      </div>
    </Dialog>
  );
}
