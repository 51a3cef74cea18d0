/** What the API description says before everything else, with names of the schema. */

import { operatorsOf } from '../../query/operators.ts';
import { exampleOf } from '../../schema/examples.ts';
import type { Column, Resource } from '../../schema/model.ts';
import { isScalar, isText } from '../../schema/values.ts';
import { isListParameter } from '../parameters.ts';
import { visible } from '../shape.ts';

export function introduction(resources: readonly Resource[]): string {
  return `Resources as JSON over HTTP.

\`HEAD\` goes with every \`GET\`, and \`OPTIONS\` answers 204 with \`Allow\`. Another method on one of these paths is 405
with \`Allow\`, another path is 404; both have the body of any other error. Unknown or repeated parameters are 400. Every answer has an \`X-Request-Id\`, which
names it in the log; a client may choose it by the same header.

An answer has all fields of a record, or those that \`fields\` asks for, and related records where \`include\` asks for them. A
body whose name ends with \`Create\` is a new record, with \`Update\` changes of one, the rest of which stays; what ends with \`Where\` says which
records are meant.

${filters(resources)} \`where\` is a filter as JSON, for what parameters cannot say; all of them
must match. A new record has a \`Location\`; with \`fields\` or \`include\` there is no \`ETag\`. In a PUT, what is \`readOnly\` may be
repeated as it is stored, so that what was read can be sent.`;
}

function filters(resources: readonly Resource[]): string {
  const listed = resources.filter(({ operations }) => operations.has('LIST'));
  const known = listed.flatMap((resource) =>
    resource.columns
      .filter((column) => isTellable(resource, column))
      .map((column) => ({ path: resource.path, column, rank: rankOf(column, resource) })),
  );
  const [best] = known.sort((a, b) => b.rank - a.rank);
  if (!best) return 'Filters are parameters; the values of a list are separated by commas.';
  const { path, column } = best;
  const { name } = column;
  const value = exampleOf(column);
  const compared = operatorsOf(column).includes('gte') ? `, \`${name}[gte]=${value}\`` : '';
  const own = `Filters are parameters: \`GET /${path}?${name}=${value}\`${compared}; in \`${name}[in]=${value},…\`, as in every list, values are separated by commas.`;
  return [own, ...through(listed)].join(' ');
}

/** Along the first reference that leads to a text. */
function through(resources: readonly Resource[]): string[] {
  for (const { path, references } of resources)
    for (const reference of references) {
      const { target, name } = reference;
      const text = target.columns.find((column) => isText(column) && isTellable(target, column));
      if (text && target.rest && visible(reference))
        return [
          `Filters\nlead through references too: \`GET /${path}?${name}.${text.name}=${exampleOf(text)}\`.`,
        ];
    }
  return [];
}

function isTellable(resource: Resource, column: Column): boolean {
  return (
    operatorsOf(column).includes('eq') &&
    !isListParameter(column.name, resource) &&
    /^[\w.-]+$/.test(String(exampleOf(column)))
  );
}

/** Numbers are compared and listed most clearly, keys the least. */
function rankOf({ type, reference, name }: Column, { key }: Resource): number {
  if (reference || name === key.name) return 0;
  return isScalar(type) && (type.is === 'number' || type.is === 'exact') ? 2 : 1;
}
