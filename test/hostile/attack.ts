/** What an attack is: bytes for a socket, and the one right outcome; with the words to write many of them down. */

import net from 'node:net';
import { within } from '../app.ts';

export interface Attack {
  readonly name: string;
  /** One character for each byte. */
  readonly sent: string;
  readonly outcome: Outcome;
  /** The client says that nothing more will come, or goes away without waiting. */
  readonly next?: 'half-close' | 'abort';
}

/** `hung up` is no answer at all; `refused` one of the runtime's own, which has no body. */
export type Outcome = 'hung up' | 'refused' | Wanted | readonly Wanted[] | ((answers: Answer[]) => void);

export interface Wanted {
  readonly status: number;
  readonly code?: string;
  /** Faults as `pointer or parameter: code`. */
  readonly faults?: readonly string[];
  /** What the body has at least; arrays are whole. */
  readonly body?: object | string;
  /** `null` for one that must not be there. */
  readonly headers?: Readonly<Record<string, string | null>>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: any;
}

/** Text as the bytes of its UTF-8. */
export const utf8 = (text: string): string => Buffer.from(text).toString('latin1');

export const CLOSE = 'Host: duet.test\r\nConnection: close\r\n';
export const typed = (type: string) => `Content-Type: ${type}\r\n`;
const JSON_TYPE = typed('application/json');

/** What would end a quoted text. */
export const SQL = `'; DROP TABLE "Book"; --`;
/** Names that every object has. */
export const inherited = ['__proto__', 'constructor', 'toString', 'hasOwnProperty'];

export const invalid = (...faults: string[]): Wanted => ({ status: 400, code: 'VALIDATION_FAILED', faults });

/** A request line with its headers, each ended by CRLF, and a body of announced length. */
export function request(line: string, headers = '', body?: string): string {
  const length = body === undefined ? '' : `Content-Length: ${body.length}\r\n`;
  return `${line} HTTP/1.1\r\n${CLOSE}${headers}${length}\r\n${body ?? ''}`;
}

export const get = (path: string, headers = '') => request(`GET ${path}`, headers);

/** `body` is sent as it is when it is text. */
export const post = (path: string, body: unknown, headers = JSON_TYPE) =>
  request(`POST ${path}`, headers, typeof body === 'string' ? utf8(body) : utf8(JSON.stringify(body)));

export const put = (path: string, body: unknown, headers = '') =>
  request(`PUT ${path}`, `${JSON_TYPE}${headers}`, utf8(JSON.stringify(body)));

export const graphql = (query: string, variables?: unknown, more: object = {}) =>
  post('/graphql', { query, variables, ...more });

/** Sends the bytes, and reads whatever comes until the server closes the connection. */
export async function attack(url: string, { sent, next }: Pick<Attack, 'sent' | 'next'>): Promise<Answer[]> {
  const { hostname, port } = new URL(url);
  const socket = net.connect({ port: Number(port), host: hostname, allowHalfOpen: true });
  const chunks: Buffer[] = [];
  const closed = new Promise<void>((resolve) => {
    socket.on('data', (chunk) => chunks.push(Buffer.from(chunk)));
    socket.on('end', () => resolve());
    socket.on('close', () => resolve());
    socket.on('error', () => resolve());
  });
  socket.write(Buffer.from(sent, 'latin1'));
  if (next === 'half-close') socket.end();
  if (next === 'abort') socket.once('ready', () => setImmediate(() => socket.resetAndDestroy()));
  try {
    await within(20_000, closed);
  } finally {
    socket.destroy();
  }
  return answersOf(Buffer.concat(chunks), /^HEAD /.test(sent));
}

/** Several may stand one after another. */
function answersOf(bytes: Buffer, withoutBody: boolean): Answer[] {
  const answers: Answer[] = [];
  let at = 0;
  while (at < bytes.length) {
    const end = bytes.indexOf('\r\n\r\n', at);
    if (end === -1) throw new Error(`half an answer: ${bytes.subarray(at)}`);
    const [line = '', ...rows] = bytes.toString('latin1', at, end).split('\r\n');
    const [, status = ''] = /^HTTP\/1\.1 (\d{3}) /.exec(`${line} `) ?? [];
    if (status === '') throw new Error(`not the start of an answer: ${line}`);
    const headers = new Headers(
      rows.map((row): [string, string] => [
        row.slice(0, row.indexOf(':')),
        row.slice(row.indexOf(':') + 1).trim(),
      ]),
    );
    const length = withoutBody || status === '100' ? 0 : Number(headers.get('Content-Length') ?? 0);
    const text = bytes.toString('utf8', end + 4, end + 4 + length);
    at = end + 4 + length;
    const isJson = headers.get('Content-Type')?.includes('json') && text !== '';
    answers.push({ status: Number(status), headers, body: isJson ? JSON.parse(text) : text });
  }
  return answers;
}
