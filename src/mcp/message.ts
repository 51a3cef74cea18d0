/** One JSON-RPC message of the Model Context Protocol, in either of the two revisions that are spoken here. */

/** Stateless: every request says what it is, in its headers and in `_meta`. */
export const MODERN = '2026-07-28';
/** Opened by `initialize`; nothing is kept of that here, so that its requests stand for themselves too. */
export const LEGACY = '2025-11-25';
export const versions = [MODERN, LEGACY] as const;
export type Version = (typeof versions)[number];

const VERSION_HEADER = 'MCP-Protocol-Version';
/** What a page must be let send. */
export const MCP_HEADERS = [VERSION_HEADER, 'Mcp-Method', 'Mcp-Name'];

/** Of JSON-RPC 2.0 (section 5.1), and those that the revision of 2026 adds. */
export const codes = {
  parse: -32700,
  request: -32600,
  method: -32601,
  params: -32602,
  internal: -32603,
  headers: -32020,
  version: -32022,
} as const;

export type Id = string | number;
export type Values = Readonly<Record<string, unknown>>;

/** What is wrong with a message, rather than with what it asks for. */
export class Refusal extends Error {
  readonly code: number;
  readonly status: number;
  readonly data: unknown;

  constructor(code: number, status: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.status = status;
    this.data = data;
  }
}

export interface Message {
  /** Undefined for a notification, which nobody answers. */
  readonly id: Id | undefined;
  readonly method: string;
  readonly params: Values;
  readonly version: Version;
}

/** It comes back in the answer: what is longer is nobody's counter. */
const LONGEST_ID = 255;

/** Undefined where it cannot be answered with: a number that JSON does not keep would come back as another. */
export function idOf({ id }: Values): Id | undefined {
  if (typeof id === 'string') return id.length <= LONGEST_ID ? id : undefined;
  return Number.isSafeInteger(id) ? (id as number) : undefined;
}

const META = 'io.modelcontextprotocol/';

export function readMessage(body: Values, headers: Headers): Message {
  const { jsonrpc, method, params = {} } = body;
  const id = idOf(body);
  if (jsonrpc !== '2.0') throw malformed('"jsonrpc" must be "2.0"');
  if (typeof method !== 'string') throw malformed('"method" must be a string: requests alone are taken here');
  if (Object.hasOwn(body, 'id') && id === undefined)
    throw malformed(`"id" must be a whole number or a string of at most ${LONGEST_ID} characters`);
  if (!isObject(params)) throw new Refusal(codes.params, 400, '"params" must be an object.');
  // Which headers they have is not laid down.
  if (id === undefined) return { id, method, params, version: MODERN };
  return { id, method, params, version: versionOf(method, params, headers) };
}

function versionOf(method: string, params: Values, headers: Headers): Version {
  const { _meta: meta = {} } = params;
  if (!isObject(meta)) throw new Refusal(codes.params, 400, '"_meta" must be an object.');
  const told = headers.get(VERSION_HEADER);
  const named = meta[`${META}protocolVersion`];
  // It is what asks for a version; the header comes with what follows.
  if (method === 'initialize' && named === undefined && told !== MODERN) return LEGACY;
  if (told === null)
    throw new Refusal(codes.headers, 400, `Send the header ${VERSION_HEADER}: ${versions.join(' or ')}.`);
  if (named !== undefined && named !== told)
    throw new Refusal(codes.headers, 400, `${VERSION_HEADER} and the version in _meta differ.`);
  const version = versions.find((each) => each === told);
  if (!version)
    throw new Refusal(codes.version, 400, 'Unsupported protocol version', {
      supported: versions,
      requested: told.slice(0, LONGEST_ID),
    });
  if (version === MODERN) refuseIncomplete(method, params, meta, headers);
  return version;
}

/** What stands in headers is what proxies go by: the body must not ask for anything else. */
function refuseIncomplete(method: string, params: Values, meta: Values, headers: Headers): void {
  const mirrored = { 'Mcp-Method': method, ...(method === 'tools/call' && { 'Mcp-Name': params['name'] }) };
  for (const [name, value] of Object.entries(mirrored))
    if (decoded(headers.get(name)) !== value)
      throw new Refusal(
        codes.headers,
        400,
        `The header ${name} must be there, and say the same as the body.`,
      );
  for (const [name, isSound] of [
    ['protocolVersion', typeof meta[`${META}protocolVersion`] === 'string'],
    ['clientCapabilities', isObject(meta[`${META}clientCapabilities`])],
  ] as const)
    if (!isSound) throw new Refusal(codes.params, 400, `params._meta must have ${META}${name}.`);
}

/** What does not fit into a header is sent as `=?base64?…?=`. */
function decoded(header: string | null): string | null {
  const [, text] = /^=\?base64\?(.*)\?=$/.exec(header ?? '') ?? [];
  return text === undefined ? header : Buffer.from(text, 'base64').toString();
}

function malformed(what: string): Refusal {
  return new Refusal(codes.request, 400, `In the message, ${what}.`);
}

export function isObject(value: unknown): value is Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
