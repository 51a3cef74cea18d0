/** Compresses answers for clients that take them so (RFC 9110, section 12.5.3). */

import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { preferredCoding } from './accept.ts';
import { isStreamed } from './answer.ts';
import { EVENT_TYPE } from './streams.ts';

export type Coding = 'gzip' | 'zstd';

/** Those that are offered, the best first. */
export function codingsOf(setting: Coding | 'off'): readonly Coding[] | undefined {
  if (setting === 'off') return undefined;
  return setting === 'zstd' ? ['zstd', 'gzip'] : ['gzip'];
}

const VARIES = 'Accept-Encoding';

/** What fits one packet arrives no sooner when it is shorter. */
const WORTH_BYTES = 1400;
/** Longer ones are compressed in another thread: everybody else would wait for it. */
const LONG_BYTES = 32 * 1024;
/** Of what is made for one answer, the first level takes away nearly as much as the others, in a third of the time. */
const LEVEL = 1;

const inOtherThread = {
  gzip: promisify(gzip) as (
    bytes: Uint8Array,
    options: { level: number },
  ) => Promise<Uint8Array<ArrayBuffer>>,
  zstd: Bun.zstdCompress as (
    bytes: Uint8Array,
    options: { level: number },
  ) => Promise<Uint8Array<ArrayBuffer>>,
};

/** The answer in the first of the codings that the client takes, if it is worth it. */
export async function compressed(
  request: Request,
  response: Response,
  codings: readonly Coding[],
): Promise<Response> {
  const { headers, status } = response;
  if (!response.body && status !== 304) return response;
  // Events are to arrive one by one.
  if (headers.has('Content-Encoding') || headers.get('Content-Type') === EVENT_TYPE) return response;
  if (!headers.get('Vary')?.includes(VARIES)) headers.append('Vary', VARIES);
  // Its tag is that of the copy which the client has, however that was coded.
  if (status === 304) return response;
  const coding = preferredCoding(request, codings);
  if (!coding) return response;
  if (isStreamed(response)) return coded(response, piped(response, coding), coding);
  const bytes = new Uint8Array(await response.arrayBuffer());
  if (bytes.byteLength < WORTH_BYTES) return new Response(bytes, { status, headers });
  return coded(response, await shortened(bytes, coding), coding);
}

function piped({ body }: Response, coding: Coding): ReadableStream<Uint8Array> | undefined {
  return body?.pipeThrough(new CompressionStream(coding as 'gzip'));
}

async function shortened(bytes: Uint8Array<ArrayBuffer>, coding: Coding): Promise<Uint8Array<ArrayBuffer>> {
  if (bytes.byteLength > LONG_BYTES) return inOtherThread[coding](bytes, { level: LEVEL });
  return coding === 'gzip'
    ? Bun.gzipSync(bytes, { level: LEVEL })
    : (Bun.zstdCompressSync(bytes, { level: LEVEL }) as Uint8Array<ArrayBuffer>);
}

function coded(
  { status, headers }: Response,
  body: ConstructorParameters<typeof Response>[0],
  coding: Coding,
): Response {
  headers.set('Content-Encoding', coding);
  const tag = codedTag(headers.get('ETag'), coding);
  if (tag) headers.set('ETag', tag);
  return new Response(body, { status, headers });
}

/** Other bytes, another strong tag (RFC 9110, section 8.8.3.3). */
function codedTag(tag: string | null, coding: Coding): string | undefined {
  return tag ? `${tag.slice(0, -1)};${coding}"` : undefined;
}

/** The tag of the answer as it is before it is coded. */
export function plainTag(tag: string): string {
  return tag.replace(/;(?:gzip|zstd)"$/, '"');
}
