/** A tool that is a document of its own, in a frame. */

import { authorization } from '../doors/send.ts';
import { theme } from '../session.ts';

declare global {
  interface Window {
    /** What framed tools send along; a function, so that the token is asked for and not kept. */
    duetHeaders?: () => Record<string, string>;
  }
}

window.duetHeaders = authorization;

export function Framed({ title, src, query }: { title: string; src: string; query: URLSearchParams }) {
  const text = query.toString();
  // Framed tools look at the colours once: with others they begin anew.
  return <iframe key={theme.value} class="framed" title={title} src={text === '' ? src : `${src}#${text}`} />;
}
