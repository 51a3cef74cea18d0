/** `/books` and `/books/{key}`: which collection a path means, and which record of it. */

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

function decoded(segment: string): string | undefined {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}
