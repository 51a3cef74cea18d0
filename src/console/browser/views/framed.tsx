/** A tool that is a document of its own, in a frame. */

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { retell } from '../address.ts';
import { authorization, wasSent } from '../doors/send.ts';
import { look, returns } from '../presence.ts';
import { theme } from '../session.ts';
import { Unloaded } from './later.tsx';

declare global {
  interface Window {
    /** What framed tools send along; a function, so that the token is asked for and not kept. */
    duetHeaders?: () => Record<string, string>;
    /** Tells of what they have sent themselves. */
    duetSent?: typeof wasSent;
    /** By which one that has places of its own tells where somebody is in it. */
    duetRetell?: typeof retell;
  }
}

window.duetHeaders = authorization;
window.duetSent = wasSent;
window.duetRetell = retell;

export function Framed({ title, src, query }: { title: string; src: string; query?: URLSearchParams }) {
  const text = query?.toString() ?? '';
  const failed = useSignal(false);
  const round = useSignal(0);
  const frame = useRef<HTMLIFrameElement>(null);
  // Where its document or its script did not arrive, it is fetched once more when the service is back.
  useEffect(() => {
    if (frame.current?.contentDocument?.querySelector('.opening') === null) return;
    failed.value = false;
    round.value++;
  }, [returns.value]);
  if (failed.value) return <Unloaded />;
  return (
    <iframe
      ref={frame}
      // Framed tools look at the colours once: with others they begin anew.
      key={theme.value + round.value}
      class="framed"
      title={title}
      src={text === '' ? src : `${src}#${text}`}
      onLoad={({ currentTarget }) => {
        // What browsers show instead of a document that nobody has sent is not ours to look into.
        failed.value = currentTarget.contentDocument === null;
        if (failed.value) void look();
      }}
    />
  );
}
