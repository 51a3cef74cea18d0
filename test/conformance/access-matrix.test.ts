/** Role × resource × operation × field × ownership × door × database: everything is as the rules say, and nothing leaks. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type ConstDirectiveNode, Kind, parse, print, visit } from 'graphql';
import { accessRules } from '../../src/access/faults.ts';
import { readSchema } from '../../src/schema/read.ts';
import { type AppUnderTest, type DatabaseKind, databases, openApp } from '../app.ts';
import { doors, type Way, ways } from './access-doors.ts';
import { headersOf, Matrix, SECRET } from './access-matrix.ts';
import { callers, type Name, names, newWorld, sdl, shapes, type Who } from './access-world.ts';

const env = { AUTH_SECRET: SECRET };
/** A world that is wrong in one place is wrong in many; these are enough to see where. */
const MOST_SHOWN = 5;

/** Which way a write comes is nothing to the database: on PostgreSQL each caller takes one, the next the other, alone or as a part of a whole. */
const waysOn = (database: DatabaseKind, who: Who): readonly Way[] =>
  database === 'sqlite' ? ways : [callers.indexOf(who) % 2 === 0 ? 'rest' : 'atomic'];

async function* everything(matrix: Matrix, of: readonly Way[]): AsyncGenerator<string> {
  for (const name of names) {
    yield* matrix.reads(name);
    yield* matrix.writes(name, of);
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
        for await (const difference of everything(matrix, waysOn(database, who)))
          if (found.push(difference) === MOST_SHOWN) break;
        expect(found).toEqual([]);
        expect(matrix.cases).toBeGreaterThan(1000);
      }, 300_000);
  });

interface Mutant {
  readonly what: string;
  readonly on: Name;
  readonly text: string;
  /** Whether the rule is gone; otherwise it says less. */
  readonly isGone: boolean;
  /** What the rule allowed, and whom. */
  readonly rule: string;
}

/** The file with one rule less, or with a rule that says less. */
function mutants(): Mutant[] {
  const found: Mutant[] = [];
  let type = '';
  visit(parse(sdl), {
    ObjectTypeDefinition: (node) => {
      type = node.name.value;
    },
    Directive: (node) => {
      if (node.name.value !== 'allow' || !node.loc) return;
      const { start, end } = node.loc;
      const on = names.find((name) => shapes[name].type === type) ?? 'people';
      const rule = print(node);
      const mutant = (how: string, instead: string) => {
        const text = sdl.slice(0, start) + instead + sdl.slice(end);
        found.push({ what: `${type}: ${rule} ${how}`, on, text, isGone: instead === '', rule });
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
  for (const mutant of all)
    test(mutant.what, async () => {
      // What the file itself makes impossible needs no matrix.
      if (readSchema(mutant.text, accessRules).faults) return;
      const app = await openApp('sqlite', { sdl: mutant.text, data: newWorld(), env });
      try {
        expect(await firstDifference(app, mutant)).toBeString();
      } finally {
        await app.close();
      }
    });
});

/** Looks first where a difference is likely: at what the rule allowed, with those who lose by it, or with those who gain. */
async function firstDifference(app: AppUnderTest, { on, isGone, rule }: Mutant): Promise<string | undefined> {
  const world = newWorld();
  const [, role = ''] = /role: "(\w+)"/.exec(rule) ?? [];
  const has = ({ claims }: Who) =>
    claims !== undefined && (role === 'authenticated' || [claims['roles']].flat().includes(role));
  const rank = (who: Who) => (isGone ? Number(!has(who)) + Number(!who.claims) : Number(has(who)));
  const inOrder = callers.toSorted((one, other) => rank(one) - rank(other));
  const matrices = new Map<Who, Matrix>();
  const matrixOf = async (who: Who) => {
    const matrix = matrices.get(who) ?? new Matrix(app, world, who, await headersOf(who));
    matrices.set(who, matrix);
    return matrix;
  };
  const reads = (matrix: Matrix) => matrix.reads(on);
  const writes = (matrix: Matrix) => matrix.writes(on, doors);
  for (const part of rule.includes('READ') ? [reads, writes] : [writes, reads])
    for (const who of inOrder) for await (const found of part(await matrixOf(who))) return found;
  return undefined;
}
