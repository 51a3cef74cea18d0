/** Filters: the JSON that both doors take, the parameters that REST can spell it with, and the address of a view. */

/** As `where` in both doors: `{ pages: { gte: 100 }, or: [ … ] }`. */
export type Where = { readonly [name: string]: unknown };

/** One comparison: `['author', 'name'] startsWith "Ada"`. */
export interface Condition {
  readonly path: readonly string[];
  readonly operator: string;
  readonly value: unknown;
}

/** What a list can be asked beside filters, in REST and so in the address; a test holds it against the service. */
export const OWN_PARAMETERS: ReadonlySet<string> = new Set([
  'limit',
  'after',
  'before',
  'offset',
  'sort',
  'where',
  'search',
  'fields',
  'include',
  'count',
  'aggregate',
  'groupBy',
  'having',
]);

/** What a filter has beside fields. */
export const LOGIC: ReadonlySet<string> = new Set(['and', 'or', 'not', 'some', 'none']);

/** The comparisons of a filter that has nothing but comparisons joined by *and*; undefined for any other. */
export function conditionsOf(where: Where, path: readonly string[] = []): Condition[] | undefined {
  const found: Condition[] = [];
  for (const [name, value] of Object.entries(where)) {
    if (LOGIC.has(name) || !isObject(value)) return undefined;
    const here = [...path, name];
    const said = Object.entries(value);
    // The service refuses what is empty; as no parameter at all it would ask for everything.
    if (said.length === 0) return undefined;
    for (const [inner, operand] of said) {
      if (!isObject(operand)) {
        found.push({ path: here, operator: inner, value: operand });
        continue;
      }
      const deeper = conditionsOf({ [inner]: operand }, here);
      if (!deeper) return undefined;
      found.push(...deeper);
    }
  }
  return found;
}

/** All of the conditions; those that ask the same twice stand beside each other. */
export function allOf(conditions: readonly Condition[]): Where | undefined {
  const wheres: Record<string, unknown>[] = [];
  for (const condition of conditions) {
    const free = wheres.find((where) => fits(where, condition));
    const where = free ?? {};
    if (!free) wheres.push(where);
    put(where, condition);
  }
  if (wheres.length <= 1) return wheres[0];
  return { and: wheres };
}

function fits(where: Record<string, unknown>, { path, operator }: Condition): boolean {
  let at: unknown = where;
  for (const name of [...path, operator]) {
    if (!isObject(at) || !(name in at)) return true;
    at = at[name];
  }
  return false;
}

function put(where: Record<string, unknown>, { path, operator, value }: Condition): void {
  let at = where;
  for (const name of path) {
    const next = isObject(at[name]) ? { ...at[name] } : {};
    at[name] = next;
    at = next;
  }
  at[operator] = value;
}

/** REST's own spelling where it has one (`pages[gte]=100`), and `where=` otherwise. */
export function filterParameters(where: Where | undefined): [string, string][] {
  if (!where) return [];
  const conditions = conditionsOf(where);
  const spelled = conditions?.map(({ path, operator, value }): [string, string] | undefined => {
    const text = parameterText(value);
    return text === undefined ? undefined : [`${path.join('.')}[${operator}]`, text];
  });
  if (spelled?.every((pair) => pair !== undefined)) return spelled;
  return [['where', JSON.stringify(where)]];
}

/** A list is separated by commas, so that a text with a comma cannot be in one. */
function parameterText(value: unknown): string | undefined {
  if (!Array.isArray(value)) return String(value);
  const texts = value.map(String);
  return texts.some((text) => text.includes(',') || text === '') ? undefined : texts.join(',');
}

/** The filter that an address spells; the operands of parameters are read as their columns are. */
export function readFilter(
  query: URLSearchParams,
  operandOf: (path: readonly string[], operator: string, text: string) => unknown,
): Where | undefined {
  const conditions: Condition[] = [];
  for (const [name, text] of query) {
    const [, path, operator] = /^([\w.]+)\[(\w+)\]$/.exec(name) ?? [];
    if (path === undefined || operator === undefined) {
      if (!OWN_PARAMETERS.has(name) && !name.startsWith('_'))
        conditions.push({
          path: name.split('.'),
          operator: 'eq',
          value: operandOf(name.split('.'), 'eq', text),
        });
      continue;
    }
    const steps = path.split('.');
    conditions.push({ path: steps, operator, value: operandOf(steps, operator, text) });
  }
  const own = allOf(conditions);
  const written = query.get('where');
  const more = written === null ? undefined : parsed(written);
  if (!own || !more) return own ?? more;
  return { and: [own, more] };
}

function parsed(text: string): Where | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
