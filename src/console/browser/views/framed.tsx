/** A tool that is a document of its own, in a frame. */

import { authorization } from '../doors/send.ts';

declare global {
  interface Window {
    /** What framed tools send along; a function, so that the token is asked for and not kept. */
    duetHeaders?: () => Record<string, string>;
  }
}

window.duetHeaders = authorization;

export function Framed({ title, src, query }: { title: string; src: string; query: URLSearchParams }) {
  const text = query.toString();
  return <iframe class="framed" title={title} src={text === '' ? src : `${src}#${text}`} />;
}
