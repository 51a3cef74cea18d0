/** The page at `/`: what is served here, with a ready-to-paste command for each door. */

import { exampleInput, exampleKey } from '../schema/examples.ts';
import type { Model, Resource } from '../schema/model.ts';
import { rootFieldName } from '../schema/names.ts';
import { neededOnCreate } from '../schema/values.ts';

export function page(model: Model, origin: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Duet</title>
<style>
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
  pre { background: #8881; padding: .75rem 1rem; border-radius: .4rem; overflow-x: auto; }
  h2 { margin-top: 2.5rem; border-bottom: 1px solid #8884; }
  :root { color-scheme: light dark; }
</style>
<h1>Duet</h1>
<p>${model.resources.length} resources, each as JSON over HTTP and through <code>/graphql</code>.
The whole schema: <a href="/schema.graphql">/schema.graphql</a>, <a href="/openapi.json">/openapi.json</a></p>
${model.resources.map((resource) => section(resource, origin)).join('\n')}
</html>
`;
}

function section(resource: Resource, origin: string): string {
  const { name, description, rest, graphql } = resource;
  return `<section id="${html(name)}">
<h2>${html(name)}</h2>
${description ? `<p>${html(description)}</p>` : ''}
${rest ? restPart(resource, origin) : ''}
${graphql ? graphqlPart(resource, origin) : ''}
</section>`;
}

function restPart(resource: Resource, origin: string): string {
  const { path, operations, key } = resource;
  const item = `/${path}/{${key.name}}`;
  const links = operations.has('LIST') ? `<a href="/${path}">/${path}</a>, ` : '';
  const commands = [
    operations.has('LIST') && `curl ${origin}/${path}`,
    operations.has('GET') && `curl ${origin}/${path}/${exampleKey(key)}`,
    operations.has('CREATE') &&
      `curl ${origin}/${path} -H 'Content-Type: application/json' -d '${shell(JSON.stringify(exampleInput(resource, neededOnCreate) ?? {}))}'`,
  ];
  return `<p>REST: ${links}<code>${html(item)}</code></p>${pre(commands)}`;
}

function graphqlPart(resource: Resource, origin: string): string {
  const { operations, key, columns } = resource;
  const selection = `{ ${columns.map(({ name }) => name).join(' ')} }`;
  const one = `(${key.name}: ${JSON.stringify(exampleKey(key))})`;
  const queries = [
    operations.has('LIST') && `{ ${rootFieldName.LIST(resource)} ${selection} }`,
    operations.has('GET') && `{ ${rootFieldName.GET(resource)}${one} ${selection} }`,
  ];
  const commands = queries.map(
    (query) =>
      query &&
      `curl ${origin}/graphql -H 'Content-Type: application/json' -d '${shell(JSON.stringify({ query }))}'`,
  );
  return `<p>GraphQL:</p>${pre(commands)}`;
}

function pre(commands: readonly (string | false)[]): string {
  return `<pre>${commands
    .filter((command) => command !== false)
    .map(html)
    .join('\n')}</pre>`;
}

/** Ends the shell's quote, adds a quoted quote, and begins again. */
function shell(text: string): string {
  return text.replaceAll("'", `'\\''`);
}

function html(text: string): string {
  return Bun.escapeHTML(text);
}
