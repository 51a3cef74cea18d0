/** A view that is fetched when it is opened. */

import { signal, useSignal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { useEffect } from 'preact/hooks';
import { isGone, look, returns } from '../presence.ts';
import { Empty, Loading } from './parts.tsx';

type PropsOf<View> = View extends (props: infer P) => unknown ? P & object : never;

/** What people open beside the data. */
export const opened = () => import('./opened.ts');

/** Made once for each view, beside its place: what is fetched stays. */
export function later<Views, Name extends keyof Views>(
  load: () => Promise<Views>,
  name: Name,
): ComponentType<PropsOf<Views[Name]>> {
  type P = PropsOf<Views[Name]>;
  // Whoever has come back while it was fetched is told of it, too, and not only whoever has asked for it.
  const known = signal<ComponentType<P> | undefined>(undefined);
  return (props: P) => {
    const failed = useSignal(false);
    useEffect(() => {
      if (known.value) return;
      failed.value = false;
      load().then(
        (loaded) => {
          known.value = loaded[name] as ComponentType<P>;
        },
        () => {
          failed.value = true;
          void look();
        },
      );
      // Once more when the service is back.
    }, [returns.value]);
    const View = known.value;
    if (View) return <View {...props} />;
    if (failed.value) return <Unloaded />;
    return <Loading />;
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
