/** `include` and `fields`: which columns and relations of a record are wanted. */

import { DuetError } from '../base/errors.ts';
import type { Relation, Selection } from '../engine/operation.ts';
import type { ListQuery } from '../query/list.ts';
import type { Column, Computed, Field, Inverse, Reference, Resource, Through } from '../schema/model.ts';
import { didYouMean } from '../schema/suggest.ts';
import { computedOf, storedColumns } from '../schema/values.ts';

/** What reading a shape needs of the parameters around it. */
export interface ShapeContext {
  readonly report: (parameter: string, detail: string) => void;
  /** Reports a name that is no column. */
  readonly column: (resource: Resource, name: string) => Column | undefined;
  /** What is said of an included list, at a path such as `posts.comments`. */
  readonly list: (field: Inverse | Through, at: string) => ListQuery;
  /** Levels of fields, counted as in a GraphQL operation that asks for the same. */
  readonly depth: number;
}

export function readShape(
  resource: Resource,
  include: readonly string[],
  fields: readonly string[],
  context: ShapeContext,
): Selection {
  const root = new Shape(resource);
  for (const path of include) reach(root, path, context);
  for (const path of fields) {
    const dot = path.lastIndexOf('.');
    const shape = dot === -1 ? root : reach(root, path.slice(0, dot), context);
    const name = path.slice(dot + 1);
    const computed = shape?.resource.computed.find((each) => each.column.name === name);
    if (computed) {
      shape?.computed.add(computed);
      continue;
    }
    const column = shape && context.column(shape.resource, name);
    if (column) shape.columns.add(column);
  }
  return selectionOf(root, '', context);
}

/** What is behind a closed door is no relation here. */
export function visible(field: Field | undefined): Field | undefined {
  return field && (field.kind === 'column' || field.target.rest) ? field : undefined;
}

/** No columns are all of them. */
class Shape {
  readonly resource: Resource;
  readonly columns = new Set<Column>();
  readonly computed = new Set<Computed>();
  readonly included = new Map<Reference | Inverse | Through, Shape>();

  constructor(resource: Resource) {
    this.resource = resource;
  }

  include(field: Reference | Inverse | Through): Shape {
    const shape = this.included.get(field) ?? new Shape(field.target);
    this.included.set(field, shape);
    return shape;
  }
}

function reach(root: Shape, path: string, { report, depth }: ShapeContext): Shape | undefined {
  let shape = root;
  for (const [index, name] of path.split('.').entries()) {
    const { resource } = shape;
    const field = visible(resource.fieldByName.get(name));
    if (!field || field.kind === 'column') {
      const relations = resource.fields.filter((each) => each.kind !== 'column' && visible(each));
      const names = relations.map((each) => each.name);
      const cure = didYouMean(name, names) || ` There are: ${names.join(', ') || 'none'}.`;
      report('include', `"${name.slice(0, 100)}" is no relation of ${resource.name}.${cure}`);
      return undefined;
    }
    // The field that the path starts from and the columns at its end are levels too.
    if (index + 3 > depth)
      throw new DuetError('QUERY_TOO_DEEP', `What is asked for has more than ${depth} levels of fields.`);
    shape = shape.include(field);
  }
  return shape;
}

function selectionOf(
  { resource, columns, computed, included }: Shape,
  path: string,
  context: ShapeContext,
): Selection {
  const isWhole = columns.size + computed.size === 0;
  const asked = isWhole ? computedOf(resource) : computed.size > 0 ? [...computed] : undefined;
  return {
    columns: isWhole ? resource.columns : storedColumns(resource).filter((column) => columns.has(column)),
    ...(asked && { computed: asked }),
    relations: [...included].map(([field, inner]): Relation => {
      const at = path === '' ? field.name : `${path}.${field.name}`;
      return {
        as: field.name,
        field,
        selection: selectionOf(inner, at, context),
        list: field.kind === 'reference' ? undefined : context.list(field, at),
      };
    }),
  };
}
