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
    <Dialog title={title} onClose={onClose}>
      <p>{about} Copy it now: it is not shown again.</p>
      <p class="secret">
        <code>{secret}</code> <Copy text={() => secret} label={copy} />
      </p>
      <div class="actions">
        <button type="button" class="primary" onClick={onClose}>
          Done
        </button>
      </div>
    </Dialog>
  );
}
