/** What parameters look like, with names of the schema: requests in what is said of them, and examples. */

import { aggregateFits } from '../../query/aggregates.ts';
import { isSortable, operatorsOf } from '../../query/operators.ts';
import { groupable, isTimePart, spelt, timeParts } from '../../query/parts.ts';
import { exampleOf } from '../../schema/examples.ts';
import type { Column, Reference, Resource } from '../../schema/model.ts';
import { isText } from '../../schema/values.ts';
import { visible } from '../shape.ts';

/** Each is `, as in …`, or nothing where no type has what it takes: they are told of all types together. */
export type Requests = Readonly<Record<keyof typeof queries, string>>;

export function requestsOf(resources: readonly Resource[]): Requests {
  const listed = resources.filter(({ operations }) => operations.has('LIST'));
  const told = Object.entries(queries).map(([name, of]) => {
    for (const resource of listed) {
      const query = of(resource);
      if (query !== undefined) return [name, `, as in \`GET /${resource.path}?${query}\``];
    }
    return [name, ''];
  });
  return Object.fromEntries(told);
}

const queries = {
  fields: (resource: Resource) => through(resource, (path) => `fields=${resource.key.name},${path}`),
  include: (resource: Resource) => name(related(resource)[0], (to) => `include=${to}`),
  further(resource: Resource) {
    for (const { name, target } of related(resource)) {
      const next = related(target).find((each) => each.target !== resource);
      if (next) return `include=${name}.${next.name}`;
    }
    return undefined;
  },
  included: (resource: Resource) =>
    name(
      related(resource).find(({ kind }) => kind !== 'reference'),
      (to) => `include=${to}&${to}[limit]=3`,
    ),
  sort: (resource: Resource) => through(resource, (path) => `sort=${path}`),
  sum: (resource: Resource) => name(summed(resource), (of) => `aggregate=count,sum(${of})`),
  part(resource: Resource) {
    const part = timeParts(resource).find((each) => spelt(each).startsWith('month('));
    return part && `aggregate=count&groupBy=${spelt(part)}`;
  },
  having: (resource: Resource) =>
    name(alike(resource), (by) => `aggregate=count&groupBy=${by}&having[count][gt]=1`),
  ranked: (resource: Resource) =>
    name(alike(resource), (by) => `aggregate=count&groupBy=${by}&sort=-count,${by}`),
} satisfies Record<string, (resource: Resource) => string | undefined>;

function name(
  field: { readonly name: string } | undefined,
  of: (name: string) => string,
): string | undefined {
  return field && of(field.name);
}

/** Along the first reference that leads to a text. */
function through({ references }: Resource, of: (path: string) => string): string | undefined {
  const text = ({ target }: Reference) => target.columns.find((each) => isText(each) && isSortable(each));
  const reference = references.find((each) => visible(each) && each.target.rest && text(each));
  return reference && of(`${reference.name}.${text(reference)?.name}`);
}

function related({ fields }: Resource) {
  return fields.flatMap((field) => (field.kind !== 'column' && visible(field) ? [field] : []));
}

function summed({ columns, key }: Resource): Column | undefined {
  return columns.find((column) => column !== key && !column.reference && aggregateFits('sum', column));
}

/** A field in which several records may be alike. */
function alike(resource: Resource): Column | undefined {
  return groupable(resource).find((column) => column !== resource.key && !isTimePart(column));
}

/** A filter for the first field that is neither the key nor a reference. */
export function exampleWhere({ columns, key }: Resource): object | undefined {
  const fits = columns.filter((column) => operatorsOf(column).includes('eq'));
  const column = fits.find((each) => each !== key && !each.reference) ?? key;
  const value = exampleOf(column);
  return value === undefined ? undefined : { [column.name]: { eq: value } };
}
