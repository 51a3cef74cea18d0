/** `/books`, `/books/{key}` and `/books/{key}/restore`: which collection a path means, and which record of it. */

/** What a path ends with where a record is written as it was. */
export const RESTORE = '/restore';

export interface ResourcePath {
  readonly segment: string;
  /** Undefined for the collection itself. */
  readonly key: string | undefined;
}

/** Undefined for paths of any other form. They come without a trailing slash. */
export function readPath(path: string): ResourcePath | undefined {
  const slash = path.indexOf('/', 1);
  const segment = decoded(slash === -1 ? path.slice(1) : path.slice(1, slash));
  if (segment === undefined) return undefined;
  if (slash === -1) return { segment, key: undefined };
  const rest = path.slice(slash + 1);
  if (rest === '' || rest.includes('/')) return undefined;
  // Text that is not percent-encoded UTF-8 still stands where a key does; it just names no record.
  return { segment, key: decoded(rest) ?? '\0' };
}

/** The path of a record that is to be written as it was; undefined for all others. */
export function readRestorePath(path: string): (ResourcePath & { readonly key: string }) | undefined {
  const { segment, key } = (path.endsWith(RESTORE) && readPath(path.slice(0, -RESTORE.length))) || {};
  return segment === undefined || key === undefined ? undefined : { segment, key };
}

function decoded(segment: string): string | undefined {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}
