/** Where a table goes on beyond what is in sight of it, its side is shaded. */

import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';

export interface Section {
  readonly current: HTMLElement | null;
}

export function shade({ current }: Section): void {
  if (!current) return;
  const { scrollLeft, clientWidth, scrollWidth } = current;
  current.toggleAttribute('data-left', scrollLeft > 0);
  // Of the last cell, the edge is empty.
  current.toggleAttribute('data-right', scrollLeft + clientWidth < scrollWidth - 8);
}

/** Looks whenever something was drawn, or its place has become another. */
export function useLook(section: Section, look: () => void): void {
  useLayoutEffect(look);
  const latest = useRef(look);
  latest.current = look;
  useEffect(() => {
    const observer = new ResizeObserver(() => latest.current());
    if (section.current) observer.observe(section.current);
    return () => observer.disconnect();
  }, []);
}
