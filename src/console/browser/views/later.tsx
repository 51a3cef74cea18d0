/** A view that is fetched when it is opened. */

import { useSignal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { useEffect } from 'preact/hooks';
import { Empty } from './parts.tsx';

/** Made once for each view, beside its place: what is fetched stays. */
export function later<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  let known: ComponentType<P> | undefined;
  return (props: P) => {
    const isThere = useSignal(known !== undefined);
    const failed = useSignal(false);
    useEffect(() => {
      if (known) return;
      load().then(
        (loaded) => {
          known = loaded;
          isThere.value = true;
        },
        () => {
          failed.value = true;
        },
      );
    }, []);
    const View = isThere.value ? known : undefined;
    if (View) return <View {...props} />;
    // A service that was replaced meanwhile has files of other names.
    if (failed.value)
      return (
        <Empty icon="search" title="This part of the console could not be loaded">
          <button type="button" onClick={() => location.reload()}>
            Reload the page
          </button>
        </Empty>
      );
    return (
      <p class="empty" role="status">
        Loading…
      </p>
    );
  };
}
