/** Speaks the Model Context Protocol to an application, as plain JSON-RPC messages. */

import { type Doors, JSON_HEADERS } from '../app.ts';

export const MODERN = '2026-07-28';
export const LEGACY = '2025-11-25';

export interface Rpc {
  readonly status: number;
  readonly headers: Headers;
  readonly body: any;
  /** The length of the whole answer. */
  readonly bytes: number;
}

export interface Called extends Rpc {
  readonly isError: boolean;
  /** What the text of the tool says. */
  readonly told: any;
}

type Fields = Record<string, string>;

/** Any body at all. */
export async function send(app: Pick<Doors, 'fetch'>, body: unknown, headers: Fields = {}): Promise<Rpc> {
  const response = await app.fetch('/mcp', {
    method: 'POST',
    headers: { ...JSON_HEADERS, Accept: 'application/json, text/event-stream', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const text = await response.text();
  const { status, headers: told } = response;
  return { status, headers: told, body: text === '' ? undefined : JSON.parse(text), bytes: text.length };
}

export const meta = {
  'io.modelcontextprotocol/protocolVersion': MODERN,
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** A request of either revision. */
export function rpc(
  app: Pick<Doors, 'fetch'>,
  method: string,
  params: Record<string, unknown> = {},
  headers: Fields = {},
  version = MODERN,
): Promise<Rpc> {
  const name = params['name'];
  const mirrored = {
    'Mcp-Method': method,
    ...(method === 'tools/call' && typeof name === 'string' && { 'Mcp-Name': name }),
  };
  const isModern = version === MODERN;
  return send(
    app,
    { jsonrpc: '2.0', id: 1, method, params: isModern ? { ...params, _meta: meta } : params },
    { 'MCP-Protocol-Version': version, ...(isModern && mirrored), ...headers },
  );
}

export async function call(
  app: Pick<Doors, 'fetch'>,
  name: string,
  args: unknown,
  headers: Fields = {},
  version = MODERN,
): Promise<Called> {
  const answer = await rpc(app, 'tools/call', { name, arguments: args }, headers, version);
  const { content, isError } = answer.body?.result ?? {};
  return { ...answer, isError, told: content && JSON.parse(content[0].text) };
}
