/** Which of several media types a client prefers, and whether it takes compressed answers (RFC 9110, section 12.5). */

/** The first offered is the default among equals; undefined when none is acceptable. */
export function preferredType<const T extends string>(
  accept: string | null,
  offered: readonly [T, ...T[]],
): T | undefined {
  if (accept === null || accept.trim() === '') return offered[0];
  const ranges = accept.split(',').map(readRange);
  const weighed = offered
    .map((type) => ({ type, ...weigh(type, ranges) }))
    .filter(({ quality }) => quality > 0);
  // Equal weights: named beats matched by a wildcard, then the one that is named first.
  weighed.sort(
    (a, b) => b.quality - a.quality || Number(b.named) - Number(a.named) || a.position - b.position,
  );
  return weighed[0]?.type;
}

interface Range {
  readonly type: string;
  readonly quality: number;
}

function readRange(text: string): Range {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  const weight = parameters.find((parameter) => parameter.startsWith('q='));
  const quality = weight === undefined ? 1 : Number(weight.slice(2));
  return { type, quality: quality >= 0 && quality <= 1 ? quality : 0 };
}

/** The most specific range decides, whatever its place. */
function weigh(type: string, ranges: readonly Range[]) {
  for (const pattern of [type, `${type.split('/')[0]}/*`, '*/*']) {
    const position = ranges.findIndex((range) => range.type === pattern);
    const range = ranges[position];
    if (range) return { quality: range.quality, named: pattern === type, position };
  }
  return { quality: 0, named: false, position: -1 };
}

/**
 * That of those offered which the client would like most, the first among equals; undefined where it takes none of them, or
 * would rather have the answer as it is (RFC 9110, section 12.5.3). Who says nothing is sent nothing that is coded.
 */
export function preferredCoding<T extends string>(
  { headers }: Request,
  offered: readonly T[],
): T | undefined {
  const header = headers.get('Accept-Encoding');
  if (!header) return undefined;
  // `x-gzip` is another name of `gzip` (section 8.4.1.3).
  const weights = new Map(
    header.split(',').map((text) => {
      const { type, quality } = readRange(text);
      return [type === 'x-gzip' ? 'gzip' : type, quality];
    }),
  );
  let best: T | undefined;
  let most = weights.get('identity') ?? 0;
  for (const coding of offered) {
    const weight = weights.get(coding) ?? weights.get('*') ?? 0;
    if (weight === 0 || weight < most || (best && weight === most)) continue;
    best = coding;
    most = weight;
  }
  return best;
}
