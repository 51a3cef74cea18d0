/** `duet init`: writes the files of a new deployment into this folder, and nothing over what is there, but for empty files. */

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import blogData from '../../../examples/blog/data.json' with { type: 'text' };
import blogSchema from '../../../examples/blog/schema.graphql' with { type: 'text' };
import shopData from '../../../examples/shop/data.json' with { type: 'text' };
import shopLogic from '../../../examples/shop/logic.ts' with { type: 'text' };
import shopSchema from '../../../examples/shop/schema.graphql' with { type: 'text' };
import startData from '../../../examples/start/data.json' with { type: 'text' };
import startSchema from '../../../examples/start/schema.graphql' with { type: 'text' };
import trackerData from '../../../examples/tracker/data.json' with { type: 'text' };
import trackerSchema from '../../../examples/tracker/schema.graphql' with { type: 'text' };
import { accessRules } from '../../access/faults.ts';
import { StartFault } from '../../app/deployment.ts';
import { ownName } from '../../app/self.ts';
import { readSchema } from '../../schema/read.ts';
import { logicTypes } from '../../typescript/logic.ts';

export const EXAMPLE_OPTION = '--example';

interface Example {
  readonly schema: string;
  readonly data: unknown;
  /** What its functions are. */
  readonly logic?: unknown;
  /** What to try first, through each door. */
  readonly rest: string;
  readonly graphql: string;
}

/** Without an example. */
const start: Example = {
  schema: startSchema,
  data: startData,
  rest: '/authors?include=books',
  graphql: '{ books { title author { name } } }',
};

const examples: Readonly<Record<string, Example>> = {
  shop: {
    schema: shopSchema,
    data: shopData,
    logic: shopLogic,
    rest: '/orders?include=lines.product',
    graphql: '{ products { name price stocks { place quantity } } }',
  },
  tracker: {
    schema: trackerSchema,
    data: trackerData,
    rest: '/issues?include=comments',
    graphql: '{ projects { tenant name issues { title state assignee { name } } } }',
  },
  blog: {
    schema: blogSchema,
    data: blogData,
    rest: '/posts?include=author,comments',
    graphql: '{ tags { name taggings { post { title author { name } } } } }',
  },
};

const IGNORED = ['node_modules/', '*.db', '*.db-shm', '*.db-wal', ''].join('\n');

export const INIT_USAGE = `init [${EXAMPLE_OPTION} ${Object.keys(examples).join('|')}]`;

/** What `duet types` would write. */
function typesOf(schema: string): string {
  const { model } = readSchema(schema, accessRules, () => true);
  return model ? logicTypes(model) : '';
}

/** Whoever has begun with an empty file loses nothing. */
function isEmpty(file: string): boolean {
  try {
    return readFileSync(file, 'utf8').trim() === '';
  } catch {
    return false;
  }
}

export async function init(name: string | undefined, print: (line: string) => void): Promise<void> {
  const known = Object.keys(examples).join(', ');
  const example = name === undefined ? start : Object.hasOwn(examples, name) ? examples[name] : undefined;
  if (!example) throw new StartFault(`${EXAMPLE_OPTION} must be one of ${known}, not "${name}"`);
  const files = {
    'schema.graphql': example.schema,
    // Imported as text, whatever the type checker makes of the name.
    'data.json': String(example.data),
    '.gitignore': IGNORED,
    ...(example.logic !== undefined && {
      'logic.ts': String(example.logic),
      'duet.gen.ts': typesOf(example.schema),
    }),
  };
  const there = Object.keys(files).filter((file) => existsSync(file) && !isEmpty(file));
  if (there.length > 0)
    throw new StartFault(
      `nothing was written, because there is ${there.join(' and ')} already. Use an empty folder, or move it away`,
    );
  try {
    for (const [file, text] of Object.entries(files))
      writeFileSync(file, text, { flag: existsSync(file) ? 'w' : 'wx' });
  } catch (error) {
    throw new StartFault(`cannot write here (${error instanceof Error ? error.message : error})`);
  }
  print(`wrote ${Object.keys(files).join(', ')}. Next:`);
  print('');
  print(`  ${ownName()} dev`);
  print(`  curl 'localhost:4000${example.rest}'`);
  print(`  curl -G localhost:4000/graphql --data-urlencode 'query=${example.graphql}'`);
  print('');
  print('http://localhost:4000/ shows the data in a browser. `dev` serves, and follows schema.graphql.');
  if (example.logic !== undefined)
    print('It follows logic.ts too, and keeps duet.gen.ts, the types that it is written with.');
}
