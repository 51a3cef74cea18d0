/** What the token of a caller says, as it stands in the filter of a rule: `{ claim: "sub" }`. */

export class Claim {
  readonly claim: string;

  constructor(claim: string) {
    this.claim = claim;
  }
}

/** No column can be compared with an object, so what looks like a claim is one. */
export function withClaims(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withClaims);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value);
  const [[name, claim] = []] = entries;
  if (entries.length === 1 && name === 'claim' && typeof claim === 'string' && claim !== '')
    return new Claim(claim);
  return Object.fromEntries(entries.map(([each, inner]) => [each, withClaims(inner)]));
}
