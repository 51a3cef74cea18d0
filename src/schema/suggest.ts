/** "Did you mean …?" for names that are almost right. */

export function didYouMean(word: string, options: Iterable<string>): string {
  // Text that is no name comes from an attacker and deserves no quadratic work.
  if (word.length > 100) return '';
  const close = [...options]
    .map((option) => ({ option, distance: editDistance(word.toLowerCase(), option.toLowerCase()) }))
    .filter(({ distance }) => distance <= Math.max(1, Math.floor(word.length * 0.4)))
    .sort((a, b) => a.distance - b.distance)
    .slice(0, 3)
    .map(({ option }) => `"${option}"`);
  return close.length === 0 ? '' : ` Did you mean ${close.join(' or ')}?`;
}

/** Restricted Damerau-Levenshtein: insertions, deletions, substitutions and swaps of neighbours count one each. */
function editDistance(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > 8) return Number.POSITIVE_INFINITY;
  let twoBack: number[] = [];
  let oneBack = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let cost = Math.min(
        (oneBack[j] ?? 0) + 1,
        (row[j - 1] ?? 0) + 1,
        (oneBack[j - 1] ?? 0) + (same ? 0 : 1),
      );
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, (twoBack[j - 2] ?? 0) + 1);
      row.push(cost);
    }
    twoBack = oneBack;
    oneBack = row;
  }
  return oneBack[b.length] ?? Number.POSITIVE_INFINITY;
}
