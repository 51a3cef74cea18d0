/** A selection on a type → a function that makes the answer of what was read, as long as nothing is wrong with it. */

import {
  type FieldNode,
  GraphQLBoolean,
  type GraphQLEnumType,
  GraphQLFloat,
  GraphQLInt,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLScalarType,
  GraphQLString,
  getNamedType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql';
import { PassedJson } from '../../base/passed.ts';
import { relationKey } from '../../engine/read/read.ts';
import { answeredFields, argumentsOf, type Given, relationName } from '../fields.ts';
import { ID } from '../id.ts';

/** Thrown where an answer needs an error: those are the reference implementation's to word and to place. */
export class NotPlain extends Error {}

/** One for all: nobody looks at where it was thrown. */
const notPlain = new NotPlain();

type Make = (value: unknown) => unknown;

/** Fields of an object → what makes the object. */
type Assemble = (fields: readonly MadeField[]) => Make;

/** What is asked for a second time will be asked for often: then code of its own, which takes a while to compile, pays. */
export function shapeFor(type: GraphQLOutputType, nodes: readonly FieldNode[], given: Given): Make {
  let shape = shapeOf(type, nodes, given, stepwise);
  let uses = 0;
  return (value) => {
    if (uses < 2 && ++uses === 2) shape = shapeOf(type, nodes, given, atOnce);
    return shape(value);
  };
}

function shapeOf(
  type: GraphQLOutputType,
  nodes: readonly FieldNode[],
  given: Given,
  assemble: Assemble,
): Make {
  if (isNonNullType(type)) {
    const make = present(type.ofType, nodes, given, assemble);
    return (value) => {
      if (value === null || value === undefined) throw notPlain;
      return make(value);
    };
  }
  const make = present(type, nodes, given, assemble);
  return (value) => (value === null || value === undefined ? null : make(value));
}

/** For values that are not null. */
function present(
  type: GraphQLOutputType,
  nodes: readonly FieldNode[],
  given: Given,
  assemble: Assemble,
): Make {
  if (isListType(type)) {
    const item = shapeOf(type.ofType, nodes, given, assemble);
    return (value) => {
      // What others have stored in a list is answered as it is, as in REST.
      if (value instanceof PassedJson) return value;
      if (!Array.isArray(value)) throw notPlain;
      const made = new Array<unknown>(value.length);
      for (let at = 0; at < made.length; at++) made[at] = item(value[at]);
      return made;
    };
  }
  if (isObjectType(type)) return objectOf(type, nodes, given, assemble);
  return leafOf(type as GraphQLScalarType | GraphQLEnumType);
}

function objectOf(
  type: GraphQLObjectType,
  parents: readonly FieldNode[],
  given: Given,
  assemble: Assemble,
): Make {
  const selections = parents.flatMap((parent) => parent.selectionSet?.selections ?? []);
  // What a fragment asks of another type was neither read nor permitted, and yet may be there: a row that was written is whole.
  const fields = [...answeredFields(selections, given, type.name)];
  return assemble(fields.map(([as, nodes]) => fieldOf(type, as, nodes, given, assemble)));
}

function stepwise(fields: readonly MadeField[]): Make {
  return (value) => {
    const source = value as Readonly<Record<string, unknown>>;
    const made: Record<string, unknown> = {};
    for (let index = 0; index < fields.length; index++) {
      const field = fields[index] as MadeField;
      made[field.as] = field.make(source[field.from]);
    }
    return made;
  };
}

/**
 * With the names in the code: in a loop for all shapes, no property is known to be where it was the last time. It saves 9 %
 * of a whole nested request for 420 records, 12 % of a list of 100, and 4 % of a list of 10.
 */
function atOnce(fields: readonly MadeField[]): Make {
  const makes = fields.map((_, index) => `make${index}`);
  const properties = fields.map(
    ({ as, from }, index) => `${JSON.stringify(as)}: make${index}(source[${JSON.stringify(from)}])`,
  );
  const code = `return (source) => ({ ${properties.join(', ')} })`;
  return new Function(...makes, code)(...fields.map(({ make }) => make));
}

interface MadeField {
  /** The name in the answer. */
  readonly as: string;
  /** The name in what was read. */
  readonly from: string;
  readonly make: Make;
}

function fieldOf(
  type: GraphQLObjectType,
  as: string,
  nodes: readonly FieldNode[],
  given: Given,
  assemble: Assemble,
): MadeField {
  // As a property it would not be one.
  if (as === '__proto__') throw notPlain;
  const [node] = nodes;
  const name = node?.name.value ?? '';
  if (name === '__typename') return { as, from: name, make: () => type.name };
  const field = type.getFields()[name];
  if (!field || !node) throw notPlain;
  const make = shapeOf(field.type, nodes, given, assemble);
  if (!field.resolve) return { as, from: name, make };
  // What has a resolver of its own is a relation, or a property that can be forbidden. What is forbidden is missing.
  const isProperty = isLeafType(getNamedType(field.type));
  const from = isProperty ? name : relationKey(relationName(name, argumentsOf(type, node, given)));
  const shown = (value: unknown) => {
    if (value === undefined) throw notPlain;
    return make(value);
  };
  return { as, from, make: shown };
}

function leafOf(type: GraphQLScalarType | GraphQLEnumType): Make {
  switch (type) {
    case ID:
      return (value) => {
        if (typeof value === 'string') return value;
        if (!Number.isInteger(value)) throw notPlain;
        return String(value);
      };
    case GraphQLString:
      return admitting((value) => typeof value === 'string');
    case GraphQLInt:
      return admitting((value) => typeof value === 'number' && (value | 0) === value);
    case GraphQLFloat:
      return admitting((value) => Number.isFinite(value));
    case GraphQLBoolean:
      return admitting((value) => typeof value === 'boolean');
    default:
      // Enums and Duet's own scalars are given back as the engine keeps them.
      return (value) => value;
  }
}

function admitting(admits: (value: unknown) => boolean): Make {
  return (value) => {
    if (!admits(value)) throw notPlain;
    return value;
  };
}
