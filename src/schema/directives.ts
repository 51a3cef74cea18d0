/** Reads the directives on a node of the SDL file against `directives.graphql`: names, places, arguments. */

import {
  buildASTSchema,
  type ConstDirectiveNode,
  type GraphQLDirective,
  GraphQLError,
  getDirectiveValues,
  Kind,
  parse,
} from 'graphql';
import definitions from './directives.graphql' with { type: 'text' };
import { didYouMean } from './suggest.ts';

export type ReportAt = (node: { readonly loc?: unknown }, message: string) => void;

export interface Applied {
  readonly node: ConstDirectiveNode;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** The directives of one node by name; only `@unique`, `@index` and `@allow` can stand there more than once. */
export type AppliedDirectives = ReadonlyMap<string, readonly [Applied, ...Applied[]]>;

const document = parse(definitions, { noLocation: true });
// A test holds it against the rules of GraphQL: it need not be done again at every start.
const schema = buildASTSchema(document, { assumeValid: true, assumeValidSDL: true });
const known = new Map(schema.getDirectives().map((directive) => [directive.name, directive]));

/** Names of types that `directives.graphql` defines: a file cannot define them again. */
export const definedTypes: readonly string[] = document.definitions.flatMap((definition) =>
  'name' in definition && definition.name && definition.kind !== Kind.DIRECTIVE_DEFINITION
    ? [definition.name.value]
    : [],
);

export const directiveNames: readonly string[] = document.definitions.flatMap((definition) =>
  definition.kind === Kind.DIRECTIVE_DEFINITION ? [definition.name.value] : [],
);

type Location = 'OBJECT' | 'FIELD_DEFINITION' | 'ENUM' | 'ENUM_VALUE' | 'ARGUMENT_DEFINITION';

export function readDirectives(
  nodes: readonly ConstDirectiveNode[] | undefined,
  location: Location,
  report: ReportAt,
): AppliedDirectives {
  const applied = new Map<string, [Applied, ...Applied[]]>();
  for (const node of nodes ?? []) {
    const name = node.name.value;
    const directive = known.get(name);
    if (!directive) {
      const all = directiveNames.map((each) => `@${each}`).join(' ');
      report(node, `Unknown directive "@${name}".${didYouMean(name, known.keys()) || ` There are: ${all}.`}`);
      continue;
    }
    if (!directive.locations.some((each) => each === location)) {
      const places = directive.locations.map((each) => each.toLowerCase().replaceAll('_', ' ')).join(' or ');
      report(node, `"@${name}" cannot stand here. Move it to: ${places}.`);
      continue;
    }
    const before = applied.get(name);
    if (before && !directive.isRepeatable) {
      report(node, `"@${name}" stands here twice. Remove one.`);
      continue;
    }
    const values = readArguments(directive, node, report);
    if (!values) continue;
    if (before) before.push({ node, arguments: values });
    else applied.set(name, [{ node, arguments: values }]);
  }
  return applied;
}

function readArguments(
  directive: GraphQLDirective,
  node: ConstDirectiveNode,
  report: ReportAt,
): Record<string, unknown> | undefined {
  const names = directive.args.map((argument) => argument.name);
  let fine = true;
  const seen = new Set<string>();
  for (const argument of node.arguments ?? []) {
    const name = argument.name.value;
    if (names.includes(name) && !seen.has(name)) {
      seen.add(name);
      continue;
    }
    fine = false;
    if (seen.has(name)) {
      report(argument, `Repeated argument "${name}" on "@${directive.name}". Remove one.`);
      continue;
    }
    const cure = names.length === 0 ? ' It takes none.' : ` It takes: ${names.join(', ')}.`;
    report(argument, `Unknown argument "${name}" on "@${directive.name}".${didYouMean(name, names) || cure}`);
  }
  try {
    const values = getDirectiveValues(directive, { directives: [node] });
    // An argument that is written as null says no more than one that is left out.
    const given = Object.entries(values ?? {}).filter(([, value]) => value !== null);
    return fine ? Object.fromEntries(given) : undefined;
  } catch (error) {
    if (!(error instanceof GraphQLError)) throw error;
    report(node, error.message);
    return undefined;
  }
}
