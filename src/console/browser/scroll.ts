/** Where a view was scrolled to, for each entry of the history: Back leads there again. */

import type { RefObject } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { entry } from './address.ts';

const kept = new Map<string, number>();

/** `isReady`: what is to be scrolled is there. What this returns listens to the scrolling. */
export function useKeptScroll(
  element: RefObject<HTMLElement | null>,
  name: string,
  isReady: boolean,
): () => void {
  const here = `${name} ${entry()}`;
  const restored = useRef('');
  useLayoutEffect(() => {
    if (!isReady || restored.current === here || !element.current) return;
    restored.current = here;
    element.current.scrollTop = kept.get(here) ?? 0;
  });
  return () => {
    if (restored.current === here && element.current) kept.set(here, element.current.scrollTop);
  };
}
