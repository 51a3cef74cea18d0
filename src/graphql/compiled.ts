/** A query that is sent again and again: everything that does not hang on its variables is computed once. */

import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  GraphQLError,
  type GraphQLObjectType,
  getArgumentValues,
  getOperationAST,
  getVariableValues,
  Kind,
  type OperationDefinitionNode,
  type SelectionNode,
} from 'graphql';
import type { Caller } from '../engine/caller.ts';
import type { Engine } from '../engine/execute.ts';
import type { Read } from '../engine/operation.ts';
import type { Permitted } from '../engine/policy/permitted.ts';
import { DuetError } from '../errors.ts';
import type { Deadline } from '../storage/storage.ts';
import { Failed, type Performed } from './execute.ts';
import { type Arguments, answeredFields, type Given } from './fields.ts';
import { planner } from './plan.ts';
import type { Door } from './schema.ts';
import { NotPlain, shapeOf } from './shape.ts';
import { usesVariables } from './variables.ts';

type Variables = Given['variableValues'];

/** What to read for a field of the answer, and what to make of it. */
interface Reading {
  readonly operation: Read;
  readonly complete: (answer: unknown) => unknown;
  readonly shape: (value: unknown) => unknown;
}

interface RootField {
  /** Its name in the answer. */
  readonly as: string;
  readonly reading: (variables: Variables) => Reading;
}

/** The data of an answer; or, when there is something wrong with it, what the executor shall make it of. */
export type Outcome =
  | { readonly data: Record<string, unknown>; readonly performed?: never }
  | { readonly data?: never; readonly performed: Performed };

/** Runs a query without the executor, as long as its answer has no error: those are the executor's to word and place. */
export class CompiledQuery {
  readonly #door: Door;
  readonly operation: OperationDefinitionNode;
  readonly #fields: readonly RootField[];

  /** Throws NotPlain for what is not a query of records alone. */
  constructor(door: Door, document: DocumentNode, operationName: string | undefined, most: number) {
    const operation = getOperationAST(document, operationName);
    if (operation?.operation !== 'query') throw new NotPlain();
    const fragments: Record<string, FragmentDefinitionNode> = Object.create(null);
    for (const definition of document.definitions)
      if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments[definition.name.value] = definition;
    const { selections } = operation.selectionSet;
    // Which fields there are is to be known beforehand.
    if (hasConditions(selections, fragments)) throw new NotPlain();
    this.#door = door;
    this.operation = operation;
    const given = { schema: door.schema, fragments, most };
    this.#fields = [...answeredFields(selections, { ...given, variableValues: undefined })].map(
      ([as, nodes]) => ({ as, reading: this.#reading(as, nodes, given) }),
    );
  }

  /** Undefined when the variables or arguments are wrong, or something is denied, and nothing was read. */
  async run(
    engine: Engine,
    caller: Caller,
    deadline: Deadline,
    variables: Arguments | undefined,
  ): Promise<Outcome | undefined> {
    const readings = this.#readings(variables);
    const permitted = readings && permittedBy(engine, caller, readings);
    if (!permitted) return undefined;
    let answers: readonly unknown[];
    try {
      answers = await engine.readPermitted(permitted, deadline);
    } catch (error) {
      return { performed: new Map(this.#fields.map(({ as }) => [as, new Failed(error)])) };
    }
    const completed = readings.map(({ complete }, index) => complete(answers[index]));
    try {
      const data: Record<string, unknown> = {};
      this.#fields.forEach(({ as }, index) => {
        data[as] = readings[index]?.shape(completed[index]);
      });
      return { data };
    } catch (error) {
      if (!(error instanceof NotPlain)) throw error;
      return { performed: new Map(this.#fields.map(({ as }, index) => [as, completed[index]])) };
    }
  }

  #readings(variables: Arguments | undefined): Reading[] | undefined {
    const { variableDefinitions = [] } = this.operation;
    const { variableValues } = getVariableValues(this.#door.schema, variableDefinitions, variables ?? {});
    if (!variableValues) return undefined;
    try {
      return this.#fields.map(({ reading }) => reading(variableValues));
    } catch (error) {
      // A null that a variable brings where its default made it fit is an error of graphql-js.
      if (error instanceof NotPlain || error instanceof DuetError || error instanceof GraphQLError)
        return undefined;
      throw error;
    }
  }

  #reading(
    as: string,
    nodes: readonly FieldNode[],
    given: Omit<Given, 'variableValues'>,
  ): RootField['reading'] {
    const query = given.schema.getQueryType() as GraphQLObjectType;
    const [node] = nodes;
    const definition = node && query.getFields()[node.name.value];
    const binding = node && this.#door.bindings.get(`${query.name}.${node.name.value}`);
    if (!definition || !binding || as === '__proto__') throw new NotPlain();

    const below = (variableValues: Variables) => {
      const all = { ...given, variableValues };
      return { plan: planner(binding, nodes, all), shape: shapeOf(definition.type, nodes, all) };
    };
    const whole = (variables: Variables, { plan, shape }: ReturnType<typeof below>): Reading => {
      const { operation, complete } = plan(getArgumentValues(definition, node, variables));
      return { operation: operation as Read, complete, shape };
    };
    const selections = nodes.flatMap(({ selectionSet }) => selectionSet?.selections ?? []);
    if (usesVariables(selections, given.fragments)) return (variables) => whole(variables, below(variables));
    const known = below(undefined);
    if (usesVariables(node.arguments ?? [], given.fragments)) return (variables) => whole(variables, known);
    const always = whole(undefined, known);
    return () => always;
  }
}

/** Which of the fields is denied, and what becomes of the others, is for the executor to tell. */
function permittedBy(
  engine: Engine,
  caller: Caller,
  readings: readonly Reading[],
): Permitted<Read>[] | undefined {
  try {
    return readings.map(({ operation }) => engine.permit(caller, operation));
  } catch (error) {
    if (error instanceof DuetError) return undefined;
    throw error;
  }
}

function hasConditions(
  selections: readonly SelectionNode[],
  fragments: Readonly<Record<string, FragmentDefinitionNode>>,
): boolean {
  return selections.some((node) => {
    if (usesVariables(node.directives ?? [], fragments)) return true;
    if (node.kind === Kind.FIELD) return false;
    const inner = node.kind === Kind.INLINE_FRAGMENT ? node : fragments[node.name.value];
    return inner !== undefined && hasConditions(inner.selectionSet.selections, fragments);
  });
}
