/** A view that is fetched when it is opened. */

import { useSignal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { useEffect } from 'preact/hooks';
import { isGone, look, returns } from '../presence.ts';
import { Empty } from './parts.tsx';

/** Made once for each view, beside its place: what is fetched stays. */
export function later<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  let known: ComponentType<P> | undefined;
  return (props: P) => {
    const isThere = useSignal(known !== undefined);
    const failed = useSignal(false);
    useEffect(() => {
      if (known) return;
      failed.value = false;
      load().then(
        (loaded) => {
          known = loaded;
          isThere.value = true;
        },
        () => {
          failed.value = true;
          void look();
        },
      );
      // Once more when the service is back.
    }, [returns.value]);
    const View = isThere.value ? known : undefined;
    if (View) return <View {...props} />;
    if (failed.value) return <Unloaded />;
    return (
      <p class="empty" role="status">
        Loading…
      </p>
    );
  };
}

/** A service that was replaced meanwhile has files of other names. */
export function Unloaded() {
  return (
    <Empty icon="search" title="This part of the console could not be loaded">
      {isGone.value ? (
        <span>It is loaded as soon as the service is back.</span>
      ) : (
        <button type="button" onClick={() => location.reload()}>
          Reload the page
        </button>
      )}
    </Empty>
  );
}
