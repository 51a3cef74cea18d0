/** Changes as they are committed, where a type has a journal: whoever looks at its records need not ask again. */

import { look } from '../presence.ts';
import type { Resource } from '../schema/types.ts';
import { authorization, wasSent } from './send.ts';

/** Until one tries again to follow: longer each time. */
const PAUSES_MS = [1000, 2000, 5000, 15_000, 30_000];

/** Calls `changed` when it has begun, because something may have happened meanwhile, and after every change. Ends with the signal. */
export async function follow(
  resource: Resource,
  key: string | undefined,
  { changed, lost }: { readonly changed: () => void; readonly lost: () => void },
  signal: AbortSignal,
): Promise<void> {
  for (let failures = 0; !signal.aborted; failures++) {
    try {
      const response = await asked(resource, key, signal);
      wasSent(response);
      // What is refused now is refused again.
      if (response.status >= 400 && response.status < 500) return;
      if (response.ok && response.body) {
        changed();
        failures = 0;
        for await (const event of eventsOf(response.body)) if (event) changed();
      }
    } catch {
      // The service is gone, or nobody looks any more.
    }
    if (signal.aborted) return;
    lost();
    void look();
    const pause = PAUSES_MS[Math.min(failures, PAUSES_MS.length - 1)];
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

/** Not as other requests, which show that one waits: this one has no end. */
function asked({ rest, graphql, key: { name } }: Resource, key: string | undefined, signal: AbortSignal) {
  const headers = { ...authorization(), Accept: 'text/event-stream' };
  if (rest) {
    const one = key === undefined ? '' : `/${encodeURIComponent(key)}`;
    return fetch(`/changes${rest.path}${one}`, { headers, signal });
  }
  const root = graphql?.roots.CHANGES;
  const type = graphql?.arguments.CHANGES?.[name];
  const query =
    key === undefined
      ? `subscription { ${root} { position } }`
      : `subscription ($key: ${type}) { ${root}(${name}: $key) { position } }`;
  return fetch('/graphql', {
    method: 'POST',
    headers: { ...headers, 'Content-Type': 'application/json' },
    body: JSON.stringify({ query, variables: { key } }),
    signal,
  });
}

/** Whether each event says something; comments only keep the connection. */
async function* eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<boolean> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    const events = (rest + decoder.decode(read.value, { stream: true })).split('\n\n');
    rest = events.pop() ?? '';
    yield events.some((event) => /^data:/m.test(event));
  }
}
