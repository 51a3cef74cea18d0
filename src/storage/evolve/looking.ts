/** Looks at what a database has and holds its writers to, and compares it with a file. */

import type { Column, Model, Resource } from '../../schema/model.ts';
import { type Derived, derivedOf } from '../derived.ts';
import { LOOK } from '../duties.ts';
import { duties, history } from '../own.ts';
import { type Comparison, compare } from './compare.ts';
import type { Ddl, Session } from './database.ts';
import { Past, pastOf } from './history.ts';
import { compareDuties, type Duties } from './raising.ts';
import type { Refusal } from './refusals.ts';
import { rowsOf } from './rows.ts';
import type { Step } from './steps.ts';
import { logAmong, type Written } from './write-log.ts';

/** Looks at a database that may be new, where nothing can be changed. */
export async function lookAhead(
  session: Session,
  ddl: Ddl,
  model: Model,
): Promise<Looked & { readonly past: Past }> {
  const past = (await ddl.has(session, history.table)) ? await pastOf(session, model) : new Past([], model);
  const isKept = await ddl.has(session, duties.table);
  return { ...(await look(session, ddl, model, past, { isKept, foresees: true })), past };
}

interface Looked extends Comparison {
  readonly duties: Duties;
  /** Another file has followed this one, and stays the newest. */
  readonly isOlder: boolean;
  /** Those whose records were looked at. */
  readonly looked: ReadonlySet<Resource>;
  /** That some node keeps, or has left behind. */
  readonly log: string | undefined;
}

interface Looking {
  readonly insists?: boolean;
  /** The database has a table of what writers keep true. */
  readonly isKept?: boolean;
  /** As in `attempt`. */
  readonly isMended?: boolean;
  /** As in `rowsOf`. */
  readonly foresees?: boolean;
  readonly only?: Written | undefined;
  readonly fresh?: ReadonlySet<Column> | undefined;
}

export async function look(
  session: Session,
  ddl: Ddl,
  model: Model,
  past: Past,
  { insists = false, isKept = true, isMended = false, foresees = false, only, fresh }: Looking,
): Promise<Looked> {
  const shapes = await ddl.shapes(session);
  // An ordinary start makes no table, and need not ask.
  const isNew = model.resources.some(({ table }) => !shapes.has(table));
  const otherNames = isNew ? await ddl.otherNames(session) : new Map<string, string>();
  const stored = isKept ? await session.query(LOOK) : [];
  const log = logAmong(stored);
  const found = compareDuties(stored, model);
  const before = found.unmended.filter(({ resource: { table } }) => shapes.has(table) && past.hasMade(table));
  const isThere = ({ resource, of }: Derived) =>
    of.every(({ stored }) => shapes.get(resource.table)?.columns.has(stored));
  const looked = new Set<Resource>();
  const unmade = isMended ? [] : before.filter(isThere);
  const rows = rowsOf(session, { unmended: unmade, foresees, only, fresh, looked });
  const comparison = await compare(past, model, shapes, ddl, rows, insists, otherNames);
  const filled = comparison.steps.flatMap((step) =>
    step.do === 'fill'
      ? derivedOf(step.resource).filter(({ of, staysBehind }) => staysBehind && of.includes(step.column))
      : [],
  );
  const unmended = [...new Set([...before, ...filled])];
  const isOlder = past.has(model) && past.last?.fingerprint !== model.generation && !insists;
  if (isOlder) {
    const refusals = [...comparison.refusals, ...unmended.map(neglected)];
    const none = { added: [], gone: [], unmended: [] };
    return { ...comparison, refusals, duties: none, isOlder, looked, log };
  }
  const raised = new Set(found.added.map(({ table }) => table).filter((table) => past.hasMade(table)));
  const raises = [...raised].map((table): Step => ({ do: 'raise', table }));
  const mends = unmended.map((derived): Step => ({ do: 'mend', derived }));
  const steps = [...comparison.steps, ...raises, ...mends];
  return { ...comparison, steps, duties: { ...found, unmended }, isOlder, looked, log };
}

/** A node that starts again must not hold the others to it, and cannot do without. */
function neglected({ resource, of }: Derived): Refusal {
  const names = of.map(({ name }) => `${resource.name}.${name}`).join(', ');
  return {
    what: `${names}: what is kept beside it is read by this schema`,
    why: 'another schema gave it up, and has written records without it',
    how: 'Run `duet migrate` with this schema, which brings all records up to date',
  };
}
