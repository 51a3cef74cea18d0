/** Asks for what clients will ask first, so that the first of them does not wait until code is loaded and statements are prepared. */

import type { Inverse, Resource } from '../schema/model.ts';
import { createApp } from './app.ts';
import type { AppOptions } from './options.ts';

/** A database that is far away, or busy, must not keep a server from listening. */
const PATIENCE_MS = 50;
/** As deep as most ask, and more than one of each: code that has run once is still slow the second time. */
const DEPTH = 2;
const SOME = 10;

/** What would refuse a request that nobody has sent, or tell of it. */
const quiet = {
  authSecret: null,
  authJwksUrl: null,
  authKeys: 'off',
  rateLimitAddress: null,
  rateLimitCaller: null,
} as const;

/** By an application of its own on the same database: nothing is logged, counted or changed. */
export async function warmUp(given: AppOptions, patienceMs = PATIENCE_MS): Promise<void> {
  const { model, door, storage, deprecatedSince, config } = given;
  const resource = mostNested(model.resources.filter(isPlain));
  // Who looks at statements is not to see those that nobody has asked for.
  if (!resource || config.logSlow !== null) return;
  const related = relatedTo(resource);
  // Of hundreds of types, those that are asked for; one that refers to itself once.
  const resources = [...new Set([resource, ...related.map(({ target }) => target)])];
  const until = performance.now() + patienceMs;
  const warmed = async () => {
    const app = createApp({
      model: { ...model, resources, actions: [] },
      door,
      storage,
      deprecatedSince,
      observe: () => {},
      config: { ...config, ...quiet },
    });
    try {
      await askFor(resource, related, async (path, body) => {
        if (performance.now() > until) throw new Error('clients ask by now');
        const init = body === undefined ? {} : { method: 'POST', headers, body: JSON.stringify(body) };
        return (await app.fetch(new Request(`http://localhost${path}`, init))).json();
      });
    } finally {
      await app.close();
    }
  };
  // What fails here fails when a client asks for it, and is told then: nothing keeps a server from its start.
  await Promise.race([warmed().catch(() => {}), Bun.sleep(patienceMs)]);
  // What a start leaves behind is collected as soon as the event loop has turned often enough: with a database that is waited for,
  // just when the first client asks.
  if (config.database.kind === 'postgres') Bun.gc(true);
}

const headers = { 'Content-Type': 'application/json' };

/** Whose records are read without running a function of the deployment's. */
function isPlain({ rest, graphql, operations, computed }: Resource): boolean {
  return rest && graphql && operations.has('LIST') && operations.has('GET') && computed.length === 0;
}

/** The first of those from which one can go furthest. */
function mostNested(resources: readonly Resource[]): Resource | undefined {
  const depth = (resource: Resource) => relatedTo(resource).length;
  return resources.toSorted((a, b) => depth(b) - depth(a))[0];
}

/** What is related to its records, and what is related to that. */
function relatedTo(resource: Resource): readonly Inverse[] {
  const ways = plainOf(resource).map((inverse) => [inverse, ...plainOf(inverse.target).slice(0, 1)]);
  return ways.find(({ length }) => length === DEPTH) ?? ways[0] ?? [];
}

function plainOf({ inverses }: Resource): readonly Inverse[] {
  return inverses.filter(({ target }) => isPlain(target));
}

/** Both doors: a list, a record, what is related to some, and a write that is refused because there is no such field. */
async function askFor(
  { path, key, singular, plural }: Resource,
  related: readonly Inverse[],
  ask: (path: string, body?: object) => Promise<unknown>,
): Promise<void> {
  const [record] = (await ask(`/${path}?limit=1`)) as readonly Readonly<Record<string, unknown>>[];
  const id = String(record?.[key.name] ?? 1);
  await ask(`/${path}/${encodeURIComponent(id)}`);
  const type = 'graphql' in key.type ? key.type.graphql : key.type.name;
  const one = `query($id: ${type}!) { ${singular}(${key.name}: $id) { ${key.name} } }`;
  await ask('/graphql', { query: one, variables: { id } });
  const nested = related.reduceRight(
    (below, { name, target }) => `${name}(first: ${SOME}) { ${target.key.name} ${below} }`,
    '',
  );
  const all = `query($first: Int!) { ${plural}(first: $first) { ${key.name} ${nested} } }`;
  await ask('/graphql', { query: all, variables: { first: SOME } });
  await ask(`/${path}`, { '': null });
}
