/** Amounts as people read them. */

export function bytes(count: number): string {
  if (count < 1000) return `${count} B`;
  if (count < 1_000_000) return `${(count / 1000).toFixed(1)} KB`;
  return `${(count / 1_000_000).toFixed(1)} MB`;
}

export function milliseconds(ms: number): string {
  return ms < 10 ? `${ms.toFixed(1)} ms` : `${Math.round(ms)} ms`;
}

export function numbered(count: number): string {
  return count.toLocaleString('en');
}

/** What so many are called. */
export function plural(count: number, one: string, many = `${one}s`): string {
  return count === 1 ? one : many;
}

export function counted(count: number, one: string, many?: string): string {
  return `${numbered(count)} ${plural(count, one, many)}`;
}
