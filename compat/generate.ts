/** What generators print for the deployment of this folder, each with the options it has of itself, and for examples/react; `tsc` holds it to the tests. */

import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { preset } from '@graphql-codegen/client-preset';
import { codegen } from '@graphql-codegen/core';
import { buildSchema, parse } from 'graphql';
import openapiTypes, { astToString } from 'openapi-typescript';
import { ADD, CREATE, LIST, NOTES, PAGE, UPDATE } from './documents.ts';
import { served } from './world.ts';

const folder = join(import.meta.dir, 'generated');
/** A command of an installed package. */
async function run(name: string, ...words: string[]): Promise<void> {
  const command = [join(import.meta.dir, 'node_modules/.bin', name), ...words];
  const child = Bun.spawn(command, { cwd: import.meta.dir, stdout: 'pipe', stderr: 'pipe' });
  const told = await Promise.all([child.stdout.text(), child.stderr.text()]);
  if ((await child.exited) !== 0) throw new Error(`${name} failed:\n${told.join('\n')}`);
}

rmSync(folder, { recursive: true, force: true });
await using server = await served();
const write = (name: string, text: string) => {
  mkdirSync(join(folder, name, '..'), { recursive: true });
  writeFileSync(join(folder, name), text);
};
const sdl = await (await fetch(`${server.url}/schema.graphql`)).text();
write('schema.graphql', sdl);

write('openapi.ts', astToString(await openapiTypes(new URL(`${server.url}/openapi.json?profile=client`))));

// What its command line does for `preset: 'client'`, which cannot be installed at the moment.
const documents = [LIST, PAGE, NOTES, CREATE, UPDATE, ADD].map((text, index) => ({
  location: `document${index}.ts`,
  document: parse(text),
  rawSDL: text,
}));
const sections = await preset.buildGeneratesSection({
  baseOutputDir: 'codegen/',
  schema: parse(sdl),
  schemaAst: buildSchema(sdl),
  documents,
  config: {},
  presetConfig: {},
  plugins: [],
  pluginMap: {},
  pluginContext: {},
});
for (const section of sections) write(section.filename, await codegen(section));

// What `npm start` prints there first.
const react = join(import.meta.dir, '../examples/react');
await using tasks = await served({ sdl: await Bun.file(join(react, 'tasks.graphql')).text() });
await Bun.write(join(react, 'duet.ts'), await fetch(`${tasks.url}/client.ts`));

mkdirSync(join(folder, 'relay'));
await Promise.all([run('gql.tada', 'generate-output'), run('relay-compiler')]);
