/** The name of a view, where it belongs, and what can be done with it. */

import type { ComponentChildren } from 'preact';
import { numbered } from '../amounts.ts';
import { dataLink } from '../links.ts';
import { Prose } from './parts.tsx';

interface HeadingProps {
  title: ComponentChildren;
  /** The type that it belongs to. */
  type?: string;
  /** And what of that type. */
  crumbs?: ComponentChildren;
  /** What the schema file, or the console, says of it. */
  about?: string | undefined;
  deprecated?: boolean | undefined;
  /** How many there are. */
  count?: number | undefined;
  /** Of how many these are a part. */
  of?: number | undefined;
  /** Buttons and links. */
  children?: ComponentChildren;
}

export function Heading({ title, type, crumbs, about, deprecated, count, of, children }: HeadingProps) {
  return (
    <div class="heading">
      <div>
        {type && (
          <p class="crumbs">
            <a href={dataLink(type)}>{type}</a> {crumbs}
          </p>
        )}
        <div class="title">
          <h1 dir="auto">
            {title} {deprecated && <span class="tag">deprecated</span>}
          </h1>
          {count !== undefined && (
            <span class="count quiet">
              {numbered(count)}
              {of !== undefined && of !== count && ` of ${numbered(of)}`}
            </span>
          )}
        </div>
        {about && (
          <p class="quiet">
            <Prose text={about} />
          </p>
        )}
      </div>
      {children && <div class="tools">{children}</div>}
    </div>
  );
}
