/** The addresses of the console's places. */

/** The link to a place. */
export function to(path: readonly unknown[], query?: URLSearchParams | Record<string, string>): string {
  const text = readable(new URLSearchParams(query));
  return `#/${path.map((part) => encodeURIComponent(String(part))).join('/')}${text === '' ? '' : `?${text}`}`;
}

/** As people write it: what has no meaning in a query stands for itself. */
export function readable(query: URLSearchParams): string {
  return query
    .toString()
    .replace(/%5B/g, '[')
    .replace(/%5D/g, ']')
    .replace(/%2C/g, ',')
    .replace(/%3A/g, ':')
    .replace(/\+/g, '%20');
}

export function actionLink(name: string): string {
  return to(['actions', name]);
}

export function dataLink(resource: string, ...rest: readonly unknown[]): string {
  return to(['data', resource, ...rest]);
}
