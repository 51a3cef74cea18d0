/** Two questions of text that statements are made with: how to join many conditions, and where a prefix ends. */

const FLAT = 8;

/** `a AND b AND …` as a tree that is as low as can be: databases limit how deep an expression may be. */
export function balanced(parts: readonly string[], word: ' AND ' | ' OR '): string {
  if (parts.length <= FLAT) return parts.join(word);
  const middle = parts.length >> 1;
  const half = (from: number, to?: number) => `(${balanced(parts.slice(from, to), word)})`;
  return half(0, middle) + word + half(middle);
}

/** The least text that is greater than every text with this prefix. */
export function successor(prefix: string): string | undefined {
  const points = [...prefix];
  for (let last = points.pop(); last !== undefined; last = points.pop()) {
    const next = (last.codePointAt(0) ?? 0) + 1;
    // There are no characters between U+D800 and U+DFFF, and none beyond U+10FFFF.
    if (next <= 0x10ffff)
      return points.join('') + String.fromCodePoint(next >= 0xd800 && next <= 0xdfff ? 0xe000 : next);
  }
  return undefined;
}
