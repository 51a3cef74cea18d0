/** Role × resource × operation × field × ownership × door × database: everything is as the rules say, and nothing leaks. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type ConstDirectiveNode, Kind, parse, print, visit } from 'graphql';
import { accessRules } from '../../src/access/faults.ts';
import { readSchema } from '../../src/schema/read.ts';
import { type AppUnderTest, databases, openApp } from '../app.ts';
import { doors, ways } from './access-doors.ts';
import { headersOf, Matrix, SECRET } from './access-matrix.ts';
import { callers, type Name, names, newWorld, sdl, shapes, type World } from './access-world.ts';

const env = { AUTH_SECRET: SECRET };
/** A world that is wrong in one place is wrong in many; these are enough to see where. */
const MOST_SHOWN = 5;

async function* everything(matrix: Matrix): AsyncGenerator<string> {
  for (const name of names) {
    yield* matrix.reads(name);
    yield* matrix.writes(name, ways);
  }
}

for (const database of databases)
  describe(`on ${database}`, () => {
    const world = newWorld();
    let app: AppUnderTest;
    beforeAll(async () => {
      app = await openApp(database, { sdl, data: newWorld(), env });
    });
    afterAll(() => app.close());

    for (const who of callers)
      test(`${who.name} sees and does what the rules say`, async () => {
        const matrix = new Matrix(app, world, who, await headersOf(who));
        const found: string[] = [];
        for await (const difference of everything(matrix)) if (found.push(difference) === MOST_SHOWN) break;
        expect(found).toEqual([]);
        expect(matrix.cases).toBeGreaterThan(1000);
      }, 300_000);
  });

/** The file with one rule less, or with a rule that says less. */
function mutants(): { what: string; on: Name; text: string }[] {
  const found: { what: string; on: Name; text: string }[] = [];
  let type = '';
  visit(parse(sdl), {
    ObjectTypeDefinition: (node) => {
      type = node.name.value;
    },
    Directive: (node) => {
      if (node.name.value !== 'allow' || !node.loc) return;
      const { start, end } = node.loc;
      const on = names.find((name) => shapes[name].type === type) ?? 'people';
      const mutant = (how: string, instead: string) => {
        const text = sdl.slice(0, start) + instead + sdl.slice(end);
        found.push({ what: `${type}: ${print(node)} ${how}`, on, text });
      };
      mutant('removed', '');
      for (const argument of ['role', 'where']) {
        const left = node.arguments?.filter(({ name }) => name.value !== argument) ?? [];
        const less = { ...node, kind: Kind.DIRECTIVE, arguments: left } as ConstDirectiveNode;
        if (left.length < (node.arguments?.length ?? 0)) mutant(`without ${argument}`, print(less));
      }
    },
  });
  return found;
}

describe('without one rule, or with one that says less, the matrix sees it:', () => {
  const all = mutants();
  test('there are many', () => {
    expect(all.length).toBeGreaterThan(40);
  });
  for (const { what, on, text } of all)
    test(what, async () => {
      // What the file itself makes impossible needs no matrix.
      if (readSchema(text, accessRules).faults) return;
      const app = await openApp('sqlite', { sdl: text, data: newWorld(), env });
      try {
        expect(await firstDifference(app, newWorld(), on)).toBeString();
      } finally {
        await app.close();
      }
    });
});

async function firstDifference(app: AppUnderTest, world: World, name: Name): Promise<string | undefined> {
  const matrices: Matrix[] = [];
  for (const who of callers) matrices.push(new Matrix(app, world, who, await headersOf(who)));
  for (const matrix of matrices) for await (const found of matrix.reads(name)) return found;
  for (const matrix of matrices) for await (const found of matrix.writes(name, doors)) return found;
  return undefined;
}
