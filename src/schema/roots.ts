/** Root fields that the file declares itself: each is bound to an operation on a resource. */

import type { FieldDefinitionNode } from 'graphql';
import { readDirectives } from './directives.ts';
import type { Faults } from './draft.ts';
import { unwrap } from './fields.ts';
import type { Column, OperationKind, Resource, RootArgument, RootField } from './model.ts';
import { rootFieldName, VERSION_ARGUMENT } from './names.ts';
import { didYouMean } from './suggest.ts';
import { creatable, graphqlTypeName, neededOnCreate, updatable } from './values.ts';

const rootOf: Record<OperationKind, 'Query' | 'Mutation'> = {
  LIST: 'Query',
  GET: 'Query',
  CREATE: 'Mutation',
  UPDATE: 'Mutation',
  DELETE: 'Mutation',
};

export function readRootField(
  root: 'Query' | 'Mutation',
  node: FieldDefinitionNode,
  resources: ReadonlyMap<string, Resource>,
  faults: Faults,
): RootField | undefined {
  const directives = readDirectives(node.directives, 'FIELD_DEFINITION', faults.at);
  const described = faults.described(node, directives);
  const where = `${root}.${described.name}`;
  for (const [name, [applied]] of directives)
    if (name !== 'operation' && name !== 'deprecated')
      faults.at(applied.node, `"@${name}" does not fit the root field "${where}". Remove it.`);

  const shape = unwrap(node.type);
  const resource = resources.get(shape.name);
  if (!resource) {
    faults.at(
      node.type,
      `"${where}" must return a resource, not "${shape.name}".${didYouMean(shape.name, resources.keys())}`,
    );
    return undefined;
  }
  const applied = directives.get('operation')?.[0];
  const derived = (Object.keys(rootOf) as OperationKind[]).find(
    (kind) => rootOf[kind] === root && rootFieldName[kind](resource) === described.name,
  );
  const operation = (applied?.arguments['is'] as OperationKind | undefined) ?? derived;
  if (!operation) {
    faults.report(
      described.place,
      `"${where}" says not what it does. Add: @operation(is: ${root === 'Query' ? 'LIST' : 'CREATE'})`,
    );
    return undefined;
  }
  if (derived && derived !== operation)
    faults.at(
      node,
      `"${where}" is the derived name of ${derived}, so it cannot be bound to ${operation}. Rename it.`,
    );
  if (rootOf[operation] !== root)
    faults.at(node, `${operation} belongs under ${rootOf[operation]}. Move "${described.name}" there.`);
  if (!resource.graphql || !resource.operations.has(operation))
    faults.at(
      node,
      `${resource.name} does not offer ${operation} in GraphQL. Remove "${where}", or widen its @resource.`,
    );
  const wanted = operation === 'LIST' ? `[${resource.name}!]!` : resource.name;
  const fits = shape.list === (operation === 'LIST') && !shape.fault;
  // Reading what does not exist is null without an error, so it cannot be promised to be there.
  if (!fits || (operation === 'LIST' && !shape.required) || (operation === 'GET' && shape.required))
    faults.at(node.type, `"${where}" does ${operation} and must return ${wanted}`);

  // Without a key nothing is known of the arguments; that it lacks one is reported where the type stands.
  if (resource.key === resource.version) return undefined;
  const named = new Set<string>();
  const args = (node.arguments ?? []).flatMap((argument) => {
    if (named.has(argument.name.value)) {
      faults.at(argument, `"${where}" takes "${argument.name.value}" twice. Remove one.`);
      return [];
    }
    named.add(argument.name.value);
    const found = readArgument(argument, operation, resource, where, faults);
    return found ? [found] : [];
  });
  for (const column of neededArguments(operation, resource))
    if (!args.some((argument) => argument.column === column))
      faults.report(
        described.place,
        `"${where}" does ${operation} and needs the argument ${column.name}: ${typeOf(column)}!`,
      );
  return { ...described, root, operation, resource, arguments: args, required: shape.required };
}

function readArgument(
  node: NonNullable<FieldDefinitionNode['arguments']>[number],
  operation: OperationKind,
  resource: Resource,
  where: string,
  faults: Faults,
): RootArgument | undefined {
  const directives = readDirectives(node.directives, 'ARGUMENT_DEFINITION', faults.at);
  const described = faults.described(node, directives);
  for (const [name, [applied]] of directives)
    if (name !== 'deprecated')
      faults.at(
        applied.node,
        `"@${name}" does not fit an argument of "${where}". Put it on the field of ${resource.name}.`,
      );
  const allowed = allowedArguments(operation, resource);
  const column = allowed.get(described.name);
  if (!column) {
    const names = [...allowed.keys()];
    const cure = names.length === 0 ? ' It takes none.' : ` It takes: ${names.join(', ')}.`;
    faults.at(
      node.name,
      `"${where}" does ${operation} and has no argument "${described.name}".${didYouMean(described.name, names) || cure}`,
    );
    return undefined;
  }
  if (node.defaultValue)
    faults.at(
      node.defaultValue,
      `Arguments have no default of their own. Put @default on ${resource.name}.${column.name}.`,
    );
  const shape = unwrap(node.type);
  const needed = neededArguments(operation, resource).includes(column);
  if (
    shape.name !== graphqlTypeName(column) ||
    shape.list !== column.list ||
    shape.fault ||
    (needed && !shape.required)
  )
    faults.at(
      node.type,
      `The argument "${described.name}" of "${where}" must be ${typeOf(column)}${needed ? '!' : ''}`,
    );
  const deprecated = directives.get('deprecated')?.[0];
  if (deprecated && shape.required)
    faults.at(
      deprecated.node,
      `The argument "${described.name}" of "${where}" must be given, so it cannot be deprecated. Remove it.`,
    );
  return { ...described, column, required: shape.required };
}

function typeOf(column: Column): string {
  return column.list ? `[${graphqlTypeName(column)}!]` : graphqlTypeName(column);
}

function allowedArguments(operation: OperationKind, resource: Resource): ReadonlyMap<string, Column> {
  const named = (columns: readonly Column[]) => columns.map((column) => [column.name, column] as const);
  if (operation === 'LIST') return new Map();
  if (operation === 'CREATE') return new Map(named(creatable(resource)));
  if (operation === 'GET') return new Map(named([resource.key]));
  const changed = operation === 'UPDATE' ? updatable(resource) : [];
  return new Map([...named([resource.key, ...changed]), [VERSION_ARGUMENT, resource.version]]);
}

function neededArguments(operation: OperationKind, resource: Resource): readonly Column[] {
  if (operation === 'LIST') return [];
  return operation === 'CREATE' ? creatable(resource).filter(neededOnCreate) : [resource.key];
}
