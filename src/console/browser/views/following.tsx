/** Keeps a view up to date while somebody looks at it, or offers to do so by hand. */

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { leave } from '../address.ts';
import { follow } from '../doors/follow.ts';
import { isGone } from '../presence.ts';
import type { Resource } from '../schema/types.ts';
import { may, token } from '../session.ts';
import { Icon } from './parts.tsx';

/** Nobody reads faster; and what changes all the time is not asked for all the time. */
const SETTLE_MS = 400;

/** Where somebody types, or is asked about what they see, nothing changes under their hands. */
const HELD = 'form.cell, dialog[open]';

/**
 * `refresh` reads the view again. A browser has few connections to a service, and each tab that follows has one for as long: those that
 * are not in sight let go of theirs.
 */
export function useFollowed(resource: Resource, key: string | undefined, refresh: () => void): boolean {
  const isLive = useSignal(false);
  const latest = useRef(refresh);
  latest.current = refresh;
  const isKept = may(resource, 'CHANGES');
  useEffect(() => {
    if (!isKept) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let following = new AbortController();
    const look = () => {
      const isHeld = document.querySelector(HELD) !== null;
      timer = isHeld ? setTimeout(look, SETTLE_MS) : undefined;
      if (!isHeld) latest.current();
    };
    const changed = () => {
      isLive.value = true;
      timer ??= setTimeout(look, SETTLE_MS);
    };
    const lost = () => {
      isLive.value = false;
    };
    const seen = () => {
      following.abort();
      following = new AbortController();
      if (document.visibilityState === 'visible')
        void follow(resource, key, { changed, lost }, following.signal);
    };
    seen();
    document.addEventListener('visibilitychange', seen);
    return () => {
      document.removeEventListener('visibilitychange', seen);
      following.abort();
      clearTimeout(timer);
      isLive.value = false;
    };
  }, [resource, key, isKept, token.value]);
  return isLive.value;
}

export function Refresh({ isLive, refresh }: { isLive: boolean; refresh: () => void }) {
  return isLive && !isGone.value ? (
    <span class="tag live" title="Changes are shown here as they happen">
      Live
    </span>
  ) : (
    <button
      type="button"
      aria-keyshortcuts="r"
      aria-label="Refresh"
      title="Refresh"
      onClick={() => leave(refresh)}
    >
      <Icon name="refresh" />
    </button>
  );
}
