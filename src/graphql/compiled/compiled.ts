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
import { DuetError } from '../../base/errors.ts';
import { caught, type Soon, then } from '../../base/soon.ts';
import type { Caller } from '../../engine/caller.ts';
import type { Engine } from '../../engine/engine.ts';
import type { Read } from '../../engine/operation.ts';
import type { Permitted } from '../../engine/policy/permitted.ts';
import { Failed } from '../../engine/read/reader.ts';
import type { Deadline } from '../../storage/storage.ts';
import { argumentReader, variableReader } from '../arguments.ts';
import { isMarked, Live } from '../directives.ts';
import type { Performed } from '../execute.ts';
import { type Arguments, answeredFields, asWritten, type Given } from '../fields.ts';
import { writtenArguments } from '../merged.ts';
import { planner } from '../plan.ts';
import type { Door } from '../schema.ts';
import { declaredIn, isGivenVariables, usesVariables } from '../variables.ts';
import type { PlannedSelections, Reading } from './planned.ts';
import { NotPlain, shapeFor } from './shape.ts';

type Variables = Given['variableValues'];

interface RootField {
  /** Its name in the answer. */
  readonly as: string;
  /** Undefined for `__typename`, which nobody has to read. */
  readonly reading: ((sent: Sent) => Reading) | undefined;
}

/** The variables that came with a request. */
class Sent {
  readonly #query: CompiledQuery;
  readonly #given: Arguments;
  #all: Variables;
  /** As far as all of them are plain. */
  readonly plain: Arguments | undefined;

  constructor(query: CompiledQuery, given: Arguments, plain: Arguments | undefined) {
    this.#query = query;
    this.#given = given;
    this.plain = plain;
    // What is wrong with one is wrong with the request, wherever it is used.
    if (!plain) this.all();
  }

  /** As graphql-js reads them; throws NotPlain when something is wrong with them. */
  all(): Variables {
    this.#all ??= this.#query.variables(this.#given);
    return this.#all;
  }
}

/** The data of an answer; or, when there is something wrong with it, what the executor shall make it of. */
export type Outcome =
  | { readonly data: Record<string, unknown>; readonly performed?: never }
  | { readonly data?: never; readonly performed: Performed };

/** Runs a query without the executor, as long as its answer has no error: those are the executor's to word and place. */
export class CompiledQuery {
  readonly #door: Door;
  readonly #kept: PlannedSelections;
  readonly #given: Omit<Given, 'variableValues'>;
  readonly operation: OperationDefinitionNode;
  /** Undefined where conditions decide which there are. */
  readonly #fields: readonly RootField[] | undefined;
  /** Of those that conditions decide on, what was asked for before; the answer has a node under one name only. */
  readonly #asked = new Map<FieldNode, RootField>();
  readonly #readVariables: ReturnType<typeof variableReader>;

  /** Throws NotPlain for what is not a query of records alone. */
  constructor(
    door: Door,
    document: DocumentNode,
    operationName: string | undefined,
    most: number,
    page: number | undefined,
    kept: PlannedSelections,
  ) {
    const operation = getOperationAST(document, operationName);
    if (operation?.operation !== 'query' || isMarked(operation, Live)) throw new NotPlain();
    const fragments: Record<string, FragmentDefinitionNode> = Object.create(null);
    for (const definition of document.definitions)
      if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments[definition.name.value] = definition;
    const { selections } = operation.selectionSet;
    this.#door = door;
    this.#kept = kept;
    this.operation = operation;
    this.#readVariables = variableReader(door.schema, operation.variableDefinitions ?? []);
    this.#given = { schema: door.schema, fragments, most, page };
    if (!hasConditions(selections, fragments)) this.#fields = this.#fieldsWith(undefined);
  }

  #fieldsWith(variableValues: Variables): RootField[] {
    const { selections } = this.operation.selectionSet;
    const fields = answeredFields(selections, { ...this.#given, variableValues });
    return [...fields].map(([as, nodes]) => this.#field(as, nodes));
  }

  #field(as: string, nodes: readonly FieldNode[]): RootField {
    const [node, other] = nodes;
    const before = node && !other && this.#asked.get(node);
    if (before) return before;
    // As a property it would not be one.
    if (as === '__proto__') throw new NotPlain();
    const isRead = node?.name.value !== '__typename';
    const field = { as, reading: isRead ? this.#reading(nodes) : undefined };
    if (node && !other) this.#asked.set(node, field);
    return field;
  }

  /** Undefined when the variables or arguments are wrong, or something is denied, and nothing was read. */
  run(
    engine: Engine,
    caller: Caller,
    deadline: Deadline,
    variables: Arguments | undefined,
  ): Soon<Outcome | undefined> {
    let fields: readonly RootField[];
    const readings: (Reading | undefined)[] = [];
    const permitted: Permitted<Read>[] = [];
    try {
      const given = variables ?? {};
      const sent = new Sent(this, given, this.#readVariables?.(given));
      fields = this.#fields ?? this.#fieldsWith(sent.all());
      for (const field of fields) {
        const reading = field.reading?.(sent);
        readings.push(reading);
        if (reading) permitted.push(engine.permit(caller, reading.operation));
      }
    } catch (error) {
      // A null that a variable brings where its default made it fit is an error of graphql-js. Which of the fields is
      // denied, and what becomes of the others, is for the executor to tell.
      if (error instanceof NotPlain || error instanceof DuetError || error instanceof GraphQLError)
        return undefined;
      throw error;
    }
    if (permitted.length === 0) return this.#outcome(fields, readings, []);
    const answers = caught<readonly unknown[] | Failed>(
      () => engine.readPermitted(permitted, deadline),
      (error) => new Failed(error),
    );
    return then(answers, (found) =>
      found instanceof Failed
        ? { performed: new Map(fields.flatMap(({ as, reading }) => (reading ? [[as, found]] : []))) }
        : this.#outcome(fields, readings, found),
    );
  }

  #outcome(
    fields: readonly RootField[],
    readings: readonly (Reading | undefined)[],
    answers: readonly unknown[],
  ): Outcome {
    const data: Record<string, unknown> = {};
    let read = 0;
    try {
      for (let index = 0; index < fields.length; index++) {
        const { as } = fields[index] as RootField;
        const reading = readings[index];
        data[as] = reading
          ? reading.shape(reading.complete(answers[read++]))
          : this.#given.schema.getQueryType()?.name;
      }
      return { data };
    } catch (error) {
      if (!(error instanceof NotPlain)) throw error;
      read = 0;
      const performed = new Map<string, unknown>();
      for (const [index, { as }] of fields.entries()) {
        const reading = readings[index];
        if (reading) performed.set(as, reading.complete(answers[read++]));
      }
      return { performed };
    }
  }

  /** As graphql-js reads them; throws NotPlain when something is wrong with them. */
  variables(given: Arguments): Variables {
    const { variableDefinitions = [] } = this.operation;
    const values = declaredIn(this.operation, given);
    const { variableValues } = getVariableValues(this.#door.schema, variableDefinitions, values, {
      maxErrors: 0,
    });
    if (!variableValues) throw new NotPlain();
    return variableValues;
  }

  #reading(nodes: readonly FieldNode[]): RootField['reading'] {
    const given = this.#given;
    const query = given.schema.getQueryType() as GraphQLObjectType;
    const [node, ...others] = nodes;
    const definition = node && query.getFields()[node.name.value];
    const binding = node && this.#door.bindings.get(`${query.name}.${node.name.value}`);
    if (!definition || !binding || !('resource' in binding)) throw new NotPlain();

    const below = (variableValues: Variables) => {
      const all = { ...given, variableValues };
      return this.#kept.make(planner(binding, nodes, all), shapeFor(definition.type, nodes, all));
    };
    const readArguments = argumentReader(definition, node);
    const argumentsOf = (sent: Sent) =>
      sent.plain && readArguments
        ? readArguments(sent.plain)
        : asWritten(getArgumentValues(definition, node, sent.all()), node);
    const selections = nodes.flatMap(({ selectionSet }) => selectionSet?.selections ?? []);
    if (usesVariables(selections, given.fragments))
      return (sent) => below(sent.all()).reading(argumentsOf(sent));
    const known = others.length > 0 ? below(undefined) : this.#kept.of(node, () => below(undefined));
    // Keys differ from request to request, and what is read by one is quickly planned.
    const isList = binding.operation !== 'GET';
    const written = isGivenVariables(node) ? writtenArguments(node.arguments ?? []) : '';
    const make = (args: Arguments) => (isList ? known.listing(args, written) : known.reading(args));
    if (isGivenVariables(node)) return (sent) => make(argumentsOf(sent));
    const always = make(getArgumentValues(definition, node, undefined));
    return () => always;
  }
}

function hasConditions(
  selections: readonly SelectionNode[],
  fragments: Readonly<Record<string, FragmentDefinitionNode>>,
): boolean {
  return selections.some((node) => {
    if (node.directives?.some(isGivenVariables)) return true;
    if (node.kind === Kind.FIELD) return false;
    const inner = node.kind === Kind.INLINE_FRAGMENT ? node : fragments[node.name.value];
    return inner !== undefined && hasConditions(inner.selectionSet.selections, fragments);
  });
}
