/** WebSockets as `Bun.serve` hands them over: whatever happens on one is told to whoever has taken it on. */

import { type DuetError, validationFailed } from '../base/errors.ts';

/** 16 bytes. */
const KEY = /^[A-Za-z0-9+/]{22}==$/;

/** Refuses what no socket can be opened for (RFC 6455, section 4.1): the runtime would not say what is wrong with it. */
export function admitHandshake({ headers, body }: Request, protocol: string): void {
  if (body) throw unsound('Content-Length', 'FORMAT', 'a handshake has no body');
  const offered = headers.get('Sec-WebSocket-Protocol')?.split(',') ?? [];
  if (!offered.some((each) => each.trim() === protocol))
    throw unsound('Sec-WebSocket-Protocol', 'ENUM', `the protocol must be ${protocol}`);
  if (!KEY.test(headers.get('Sec-WebSocket-Key') ?? ''))
    throw unsound('Sec-WebSocket-Key', 'FORMAT', 'the key must be 16 bytes in base64');
}

function unsound(parameter: string, code: 'ENUM' | 'FORMAT', detail: string): DuetError {
  return validationFailed([{ parameter, code, detail }]);
}

/** What can be done with one. */
export interface Socket {
  /** At most -1 where the client does not keep up: then `drained` tells whenever it has taken some more. */
  send(text: string): number;
  /** How many bytes it has yet to take. */
  getBufferedAmount(): number;
  close(code: number, reason: string): void;
  /** Without a word to the client, who may be gone. */
  terminate(): void;
}

/** Who has taken a socket on. */
export interface Attendant {
  opened(socket: Socket): void;
  message(text: string): void;
  drained(): void;
  closed(): void;
}

/** Pings go out before that, and before proxies take the connection for dead; who does not answer them is gone. */
const IDLE_SECONDS = 30;

interface Attended extends Socket {
  readonly data: unknown;
}

/** Of several applications in one program too: each socket knows whose it is. */
export interface WebSocketHandlers {
  readonly idleTimeout: number;
  readonly maxPayloadLength: number;
  readonly backpressureLimit: number;
  readonly open: (socket: Attended) => void;
  readonly message: (socket: Attended, message: string | Uint8Array) => void;
  readonly drain: (socket: Attended) => void;
  readonly close: (socket: Attended) => void;
}

const MOST_UNSENT = 2 ** 30;

/** The `websocket` of `Bun.serve`; a longer message than `longest` bytes ends a socket. */
export function socketHandlers(longest: number): WebSocketHandlers {
  const of = ({ data }: Attended) => data as Attendant;
  return {
    idleTimeout: IDLE_SECONDS,
    maxPayloadLength: longest,
    // Nothing is sent to who does not keep up, so that there is one answer too many at the most; none is dropped for its length.
    backpressureLimit: MOST_UNSENT,
    open: (socket) => of(socket).opened(socket),
    message: (socket, message) => of(socket).message(String(message)),
    drain: (socket) => of(socket).drained(),
    close: (socket) => of(socket).closed(),
  };
}
