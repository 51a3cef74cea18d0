/** The name of a view, where it belongs, and what can be done with it. */

import type { ComponentChildren } from 'preact';

interface HeadingProps {
  title: ComponentChildren;
  /** Links to what it is a part of. */
  crumbs?: ComponentChildren;
  about?: ComponentChildren;
  /** Buttons and links. */
  children?: ComponentChildren;
}

export function Heading({ title, crumbs, about, children }: HeadingProps) {
  return (
    <div class="heading">
      <div>
        {crumbs && <p class="crumbs">{crumbs}</p>}
        <h1 dir="auto">{title}</h1>
        {about && <p class="quiet">{about}</p>}
      </div>
      {children && <div class="tools">{children}</div>}
    </div>
  );
}
