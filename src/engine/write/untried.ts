/** What was to be stored with a record that collides, and was not tried: the same is told of it, to those who may know. */

import { isEverything } from '../../query/filter.ts';
import type { Column, Reference, Resource } from '../../schema/model.ts';
import type { Row } from '../../storage/statements.ts';
import type { Program } from '../../storage/storage.ts';
import type { Access } from '../policy/access.ts';
import { isUnchecked } from '../policy/writing.ts';
import { Collision, type Placed } from './collision.ts';
import { notFound } from './references.ts';
import type { NewRecord } from './validate.ts';

type Path = readonly (string | number)[];
type Keys = ReadonlyMap<Resource, readonly unknown[]>;

/** A natural key can be that of a record which comes before it in this list. */
export function comingWith(records: readonly NewRecord[], beside: Keys | undefined) {
  const isAmongOthers = records.length > 1 || (beside && beside.size > 0);
  return ({ target }: Reference) => isAmongOthers && target.key.origin.by === 'client';
}

/** Where each stands, with what of its references cannot come any more. */
export function placed(
  resource: Resource,
  records: readonly NewRecord[],
  missing: readonly (readonly Reference[])[],
  at: (index: number) => Path,
  known: Column | undefined,
  mayCome: ReturnType<typeof comingWith>,
): Placed[] {
  const columns = contradicting(resource);
  return records.map(({ values }, index) => {
    const lost = missing[index] ?? [];
    const row = part(values, columns);
    // Once all is undone, the record that it is nested in has no key.
    if (known) row[known.name] = null;
    // What may still come may be hidden as well: whether another record refers to it would tell.
    for (const { column } of lost) row[column.name] = null;
    return { resource, row, others: notFound(lost.filter((each) => !mayCome(each))), path: at(index) };
  });
}

/** Runs what may collide before these lists of a record are created. `known`: the reference to the record that it is nested in itself. */
export function withUntried<T>(
  access: Access,
  resource: Resource,
  children: NewRecord['children'],
  known: Column | undefined,
  program: Program<T>,
): Program<T> {
  if (children.length === 0) return program;
  return (function* () {
    try {
      return yield* program;
    } catch (error) {
      // What a function or a link collides with names no fields of the input.
      const isOwn = error instanceof Collision && !error.more.isWhole;
      throw isOwn ? error.also(nestedIn(access, resource, children, known, [])) : error;
    }
  })();
}

/**
 * The records of these lists, with those that are nested in them, where the caller might create each by itself. By a natural key they
 * can refer to whatever comes with them, or what a function writes.
 */
export function nestedIn(
  access: Access,
  resource: Resource,
  children: NewRecord['children'],
  known: Column | undefined,
  path: Path,
): Placed[] {
  if (children.length === 0) return [];
  const own = known || access.hooksOf ? undefined : nestableIn(resource);
  // What a rule hides, a record that is stored before may show.
  const isTold = ({ target }: Reference) =>
    isEverything(access.rows(target, 'READ')) &&
    (target.key.origin.by !== 'client' || own?.has(target) === false);
  return below(children, path);

  function below(lists: NewRecord['children'], outer: Path): Placed[] {
    return lists.flatMap(({ inverse: { name, target, reference }, records, links }) => {
      // A function may still make them otherwise.
      if (links || access.hooksOf?.(target)?.beforeCreate) return [];
      const columns = contradicting(target);
      return records.flatMap(({ values, given, children: nested }, index): Placed[] => {
        if (!isUnchecked(access, target, given, reference.column)) return [];
        const at = [...outer, name, index];
        const row = { ...part(values, columns), [reference.column.name]: null };
        return [
          { resource: target, row, others: [], path: at, sought: { access, isTold } },
          ...below(nested, at),
        ];
      });
    });
  }
}

/** What of a record may contradict others: to copy thousands of them whole, of hundreds of columns, took a second and more. */
function contradicting({ key, version, uniques, references }: Resource): readonly Column[] {
  const sets = uniques.flatMap(({ columns }) => columns);
  return [...new Set([key, version, ...sets, ...references.map(({ column }) => column)])];
}

function part(values: Row, columns: readonly Column[]): Row {
  const some: Row = {};
  for (const { name } of columns) some[name] = values[name];
  return some;
}

/** The resource, and all whose records can be nested in one of it. */
function nestableIn(resource: Resource, found = new Set<Resource>()): ReadonlySet<Resource> {
  if (found.has(resource)) return found;
  found.add(resource);
  for (const { target } of resource.inverses) nestableIn(target, found);
  return found;
}
