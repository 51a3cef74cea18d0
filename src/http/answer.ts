/** Makes answers. What many of them say is kept as Headers: those are copied at once, while each header set costs. */

export const JSON_TYPE = 'application/json';

/** What Bun sends in one piece wherever it was made, its headers included: it has a buffer of 16 KB. */
const BUFFERED_BYTES = 15 * 1024;

type Fields = Readonly<Record<string, string>>;

/** No answer is to be guessed at, nor kept for others; a client's own copy is good once its version was compared. */
const ALWAYS: Fields = { 'X-Content-Type-Options': 'nosniff', 'Cache-Control': 'private, no-cache' };

/** The headers that answers of one kind have in common. */
export function common(fields: Fields): Headers {
  return new Headers({ ...ALWAYS, ...fields });
}

const json = common({ 'Content-Type': JSON_TYPE });

export function answer(
  status: number,
  body: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | null,
  fields?: Fields,
  headers: Headers = json,
): Response {
  const response = new Response(body, { status, headers });
  if (fields) for (const name in fields) response.headers.set(name, fields[name] ?? '');
  if (body instanceof ReadableStream) streamed.add(response);
  else if (body !== null && body.length > BUFFERED_BYTES) {
    long.bytes.set(response, Buffer.byteLength(body));
    long.count++;
  }
  return response;
}

const streamed = new WeakSet<Response>();

/** Whether the answer is still being written while it is sent. */
export function isStreamed(response: Response): boolean {
  return streamed.has(response);
}

/** Those that nobody has asked about yet; most of the time there are none, and then there is nothing to look up. */
const long = { bytes: new WeakMap<Response, number>(), count: 0 };

/** How long an answer is, if it is long; told once. */
export function takeLong(response: Response): number | undefined {
  if (long.count === 0) return undefined;
  const bytes = long.bytes.get(response);
  if (bytes !== undefined && long.bytes.delete(response)) long.count--;
  return bytes;
}

const bodiless = common({});

export function answerWithoutBody(status: number, fields?: Fields): Response {
  return answer(status, null, fields, bodiless);
}
