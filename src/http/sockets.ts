/** WebSockets as `Bun.serve` hands them over: whatever happens on one is told to whoever has taken it on. */

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
