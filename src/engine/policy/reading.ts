/** A read as its caller may have it: records that it may not see do not exist, and forbidden fields cannot be used. */

import type { Fault } from '../../base/errors.ts';
import { all, any, everything, type Filter, isEverything, isNothing } from '../../query/filter.ts';
import type { ListQuery } from '../../query/list.ts';
import type { OrderBy } from '../../query/order.ts';
import { decisive } from '../../query/parts.ts';
import { isReferred, referred } from '../../query/referred.ts';
import { askedOf, isResult } from '../../query/results.ts';
import type { Column, Computed, Field, Inverse, Resource, Through } from '../../schema/model.ts';
import type { ChangeRights } from '../journal/changes-operation.ts';
import type { Aggregate, Relation, Selection } from '../operation.ts';
import { relationKey } from '../read/read.ts';
import type { Access } from './access.ts';
import type { Guard } from './guards.ts';

export function readableList(access: Access, resource: Resource, list: ListQuery): ListQuery {
  const order = list.order.map((each) => readableOrder(access, resource, each));
  return { ...list, order, where: readableWhere(access, resource, list.where) };
}

/** What a record refers to and the caller may not see has no value, so that its place tells nothing of it. */
function readableOrder(access: Access, resource: Resource, by: OrderBy): OrderBy {
  const where = 'the order of a list';
  const { column } = by;
  if (!isReferred(column)) {
    mustBeComparable(access, resource, column, where);
    return by;
  }
  let owner = resource;
  const through = column.through.map(({ field }) => {
    mustBeReadable(access, owner, field, where);
    owner = field.target;
    access.admit(owner, 'READ');
    return { field, where: access.rows(owner, 'READ') };
  });
  mustBeComparable(access, owner, column.of, where);
  return { ...by, column: referred(through, column.of) };
}

export function readableAggregate(access: Access, operation: Aggregate): Aggregate {
  const { resource, by, measures, where } = operation;
  const decide = askedOf(operation).flatMap((column) =>
    isResult(column) ? (column.from ?? []) : decisive(column),
  );
  for (const column of [...by.map(decisive), ...measures.flatMap(({ column }) => column ?? []), ...decide])
    mustBeComparable(access, resource, column, 'aggregates');
  // Each hangs on a column that passed just now, so no group needs to hide it.
  const { relations } = readableParts(access, resource, { columns: [], relations: operation.relations });
  return { ...operation, relations, where: readableWhere(access, resource, where) };
}

/** Those of the wanted records that the caller may see. */
export function readableWhere(access: Access, resource: Resource, where: Filter): Filter {
  return all([access.rows(resource, 'READ'), seen(access, resource, where)]);
}

/** The filter as if what the caller may not see did not exist. */
function seen(access: Access, resource: Resource, filter: Filter): Filter {
  switch (filter.is) {
    case 'all':
      return all(filter.of.map((each) => seen(access, resource, each)));
    case 'any':
      return { is: 'any', of: filter.of.map((each) => seen(access, resource, each)) };
    case 'not':
      return { is: 'not', of: seen(access, resource, filter.of) };
    case 'related': {
      const { field, where } = filter;
      mustBeReadable(access, resource, field);
      return { ...filter, where: readableWhere(access, field.target, where) };
    }
    case 'some': {
      const { field, where } = filter;
      mustBeReadable(access, resource, field);
      return { ...filter, where: all([listable(access, field), seen(access, field.target, where)]) };
    }
    case 'search':
      // Which words are found tells what the fields say.
      for (const column of filter.resource.searched) mustBeReadable(access, resource, column, 'a search');
      return filter;
    default: {
      const { column } = filter;
      mustBeReadable(access, resource, column);
      const there = referenceSeen(access, column);
      if (isEverything(there)) return filter;
      // Null is not equal to anything, and what cannot be seen is null.
      if (filter.is === 'null') return { is: 'not', of: there };
      if (filter.is === 'ne') return any([filter, { is: 'not', of: there }]);
      return all([filter, there]);
    }
  }
}

/** The records of a list: a record whose reference one may not read is in nobody's list. */
function listable(access: Access, { target, reference }: Inverse): Filter {
  return all([access.rows(target, 'READ'), access.field(reference, 'READ')]);
}

/** The records of a join type that link anything for the caller: those that it sees, with where they lead from and to. */
export function linkSeen(access: Access, { links: { target, reference: near }, far }: Through): Filter {
  return all([access.rows(target, 'READ'), access.field(near, 'READ'), access.field(far, 'READ')]);
}

/** That the record exists, for this caller, whose key the column holds. */
function referenceSeen(access: Access, { reference: field }: Column): Filter {
  if (!field) return everything;
  const where = access.rows(field.target, 'READ');
  return isEverything(where) || isNothing(where) ? where : { is: 'related', field, where };
}

export function mustBeReadable(access: Access, resource: Resource, field: Field, where = 'a filter'): void {
  if (!isEverything(access.field(field, 'READ'))) throw unusable(access, resource, field, where);
}

/** The order of values tells what they are, also of keys that one may not see. */
function mustBeComparable(access: Access, resource: Resource, column: Column, where: string): void {
  const fine = isEverything(access.field(column, 'READ')) && isEverything(referenceSeen(access, column));
  if (!fine) throw unusable(access, resource, column, where);
}

function unusable(access: Access, resource: Resource, { name }: Field, where: string) {
  const detail = `You may not read each ${resource.name}.${name}, so it cannot be used in ${where}.`;
  const fault: Fault = { code: 'FORBIDDEN', detail };
  return access.denied(detail, [fault]);
}

export function readableSelection(access: Access, resource: Resource, selection: Selection): Selection {
  return access.kept(selection, () => readableParts(access, resource, selection));
}

/**
 * What is shown of a record that its caller changes. Where a check lets it leave the caller's sight, what it must refer to may
 * leave with it: its key, which was seen before, is told all the same, and nothing else of it.
 */
export function changedSelection(access: Access, resource: Resource, selection: Selection): Selection {
  return access.mayRelease(resource)
    ? readableParts(access, resource, selection, true)
    : readableSelection(access, resource, selection);
}

/** The same object when nothing changes, so that what is known of it stays known. `mayLeave`: whether the records may leave sight. */
function readableParts(
  access: Access,
  resource: Resource,
  selection: Selection,
  mayLeave = false,
): Selection {
  const isAllowed = (field: Field) => !isNothing(access.field(field, 'READ'));
  const columns = selection.columns.filter(isAllowed);
  const kept = selection.relations.filter(({ field }) => isAllowed(field));
  const relations = kept.map((relation) => readableRelation(access, relation));
  // Who may not read a field may not read what is made of it.
  const computed = selection.computed?.filter(({ column }) => isAllowed(column));
  const sources = computed?.flatMap(({ from }) => from) ?? [];
  const guarded =
    sources.length > 0 ? { ...selection, columns: [...selection.columns, ...sources] } : selection;
  const guards = [
    ...guardsOf(access, resource, guarded, mayLeave),
    ...ownGuards(access, resource, computed ?? []),
  ];
  const changes = selection.changes?.map((each) => ({ ...each, rights: changeRights(access, resource) }));
  const same =
    !changes &&
    columns.length === selection.columns.length &&
    computed?.length === selection.computed?.length &&
    relations.length === selection.relations.length &&
    relations.every((relation, index) => relation === kept[index]);
  if (guards.length === 0 && same) return selection;
  const readable = { ...selection, columns, relations, computed, ...(changes && { changes }) };
  return guards.length === 0 ? readable : { ...readable, guards };
}

/** What the caller may see of the changes of a type. */
export function changeRights(access: Access, resource: Resource): ChangeRights {
  const { columns } = resource;
  const readable = readableSelection(access, resource, { columns, relations: [] });
  return {
    seen: access.rows(resource, 'READ'),
    past: access.rows(resource, 'HISTORY'),
    hidden: columns.filter((column) => !readable.columns.includes(column)).map(({ name }) => name),
    guards: readable.guards ?? [],
  };
}

/** Of what is computed and has rules of its own: there is nothing to be read for it. */
export function ownGuards(access: Access, resource: Resource, computed: readonly Computed[]): Guard[] {
  return computed.flatMap(({ column }): Guard[] => {
    const where = column.allow.length > 0 ? access.field(column, 'READ') : everything;
    if (isEverything(where)) return [];
    return [{ resource, where, column: undefined, properties: [column.name], instead: undefined }];
  });
}

function readableRelation(access: Access, relation: Relation): Relation {
  const { field, list, summary } = relation;
  if (field.kind !== 'reference' && summary) {
    const aggregate = readableAggregate(access, summary.aggregate);
    const selection = { ...relation.selection, relations: aggregate.relations };
    if (field.kind === 'through')
      return {
        ...relation,
        selection,
        seenLinks: linkSeen(access, field),
        summary: { ...summary, aggregate },
      };
    const where = all([access.field(field.reference, 'READ'), aggregate.where]);
    return { ...relation, selection, summary: { ...summary, aggregate: { ...aggregate, where } } };
  }
  const selection = readableParts(access, field.target, relation.selection);
  if (field.kind !== 'reference' && list) {
    const { where, order } = readableList(access, field.target, list);
    if (field.kind === 'through') {
      const seenLinks = linkSeen(access, field);
      return { ...relation, selection, seenLinks, list: { ...list, order, where } };
    }
    const shown = all([access.field(field.reference, 'READ'), where]);
    return { ...relation, selection, list: { ...list, order, where: shown } };
  }
  const rows = access.rows(field.target, 'READ');
  const links = field.kind === 'through' ? { seenLinks: linkSeen(access, field) } : undefined;
  if (isEverything(rows) && !links)
    return selection === relation.selection ? relation : { ...relation, selection };
  return { ...relation, selection, ...links, seen: rows };
}

function guardsOf(
  access: Access,
  resource: Resource,
  { columns, relations }: Selection,
  mayLeave: boolean,
): Guard[] {
  const fields = new Set<Column | Inverse | Through>(columns);
  for (const { field } of relations) fields.add(field.kind === 'reference' ? field.column : field);
  return [...fields].flatMap((field): Guard[] => {
    const readable = access.field(field, 'READ');
    const there = field.kind === 'column' ? referenceSeen(access, field) : everything;
    const follows = relations.filter((each) =>
      field.kind === 'column' ? each.field === field.reference : each.field === field,
    );
    const related = follows.map(({ as }) => relationKey(as));
    const column = field.kind === 'column' ? field : undefined;
    const properties = column ? [column.name] : [];
    return [
      // A relation to what cannot be seen is null by itself.
      ...(isEverything(there)
        ? []
        : [
            {
              resource,
              where: all([there, readable]),
              column,
              properties,
              instead: null,
              unlessSeen: mayLeave && column?.reference?.required === true,
            },
          ]),
      // Last, for it takes away more. The column is read once, of the records that pass both.
      ...(isEverything(readable)
        ? []
        : [
            {
              resource,
              where: readable,
              column: isEverything(there) ? column : undefined,
              properties: [...properties, ...related],
              instead: undefined,
            },
          ]),
    ];
  });
}
