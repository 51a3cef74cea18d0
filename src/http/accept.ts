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

const codings = {
  gzip: /(^|,)\s*gzip\s*(,|$|;(?!\s*q=0(\.0*)?\s*(,|$)))/i,
  br: /(^|,)\s*br\s*(,|$|;(?!\s*q=0(\.0*)?\s*(,|$)))/i,
  zstd: /(^|,)\s*zstd\s*(,|$|;(?!\s*q=0(\.0*)?\s*(,|$)))/i,
};

export function acceptsCoding({ headers }: Request, coding: keyof typeof codings): boolean {
  return codings[coding].test(headers.get('Accept-Encoding') ?? '');
}
