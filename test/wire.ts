/** A wire between the app and PostgreSQL that a test cuts where it pleases. */

import net from 'node:net';

/** Where the wire is cut: before these bytes are passed on, within what answers them, or instead of passing that on. */
export type Cut = 'before' | 'within' | 'after';

/** ReadyForQuery, the message that ends every answer: only then is a statement that commits by itself committed. */
const END_BYTES = 6;

/** Where it is not cut, the bytes may be made unreadable. */
type Harm = Cut | 'garble';

interface Trap {
  readonly harm: Harm;
  readonly at: string;
  /** How many more connections fall into it. */
  times: number;
  hasSprung: boolean;
}

export class Wire implements Disposable {
  readonly #server: net.Server;
  readonly #sockets = new Set<net.Socket>();
  #trap: Trap | undefined;
  /** All that was sent to the server. */
  sent = '';
  /** While it is set, answers are held back for so many milliseconds: what is sent meanwhile did not wait for them. */
  heldMs = 0;
  /** How often answers were held back. */
  trips = 0;
  /** While true, a server that hangs up is not heard doing so. */
  muffled = false;

  /** The port where new connections lead to. */
  target: number;

  private constructor(target: number) {
    this.target = target;
    this.#server = net.createServer((client) => this.#join(client, net.connect(this.target, '127.0.0.1')));
  }

  static async start(target: number): Promise<Wire> {
    const wire = new Wire(target);
    await new Promise<void>((resolve) => wire.#server.listen(0, '127.0.0.1', resolve));
    return wire;
  }

  get port(): number {
    return (this.#server.address() as net.AddressInfo).port;
  }

  /** The next connection that sends these bytes is lost; with no bytes, the next that sends anything. */
  cut(harm: Cut, at = '', times = 1): void {
    this.#trap = { harm, at, times, hasSprung: false };
  }

  /** Until it is over, the server cannot read these bytes: what it does not know by its name, it is told again. */
  garble(at: string): Disposable {
    this.#trap = { harm: 'garble', at, times: Number.POSITIVE_INFINITY, hasSprung: false };
    return {
      [Symbol.dispose]: () => {
        this.#trap = undefined;
      },
    };
  }

  /** Whether what was laid has sprung. */
  get sprung(): boolean {
    return this.#trap?.hasSprung ?? true;
  }

  [Symbol.dispose](): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #join(client: net.Socket, server: net.Socket): void {
    let harm: Harm | undefined;
    const part = () => {
      client.destroy();
      server.destroy();
    };
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      // A wire that breaks is what this is for.
      socket.on('error', () => {});
      socket.on('close', () => {
        this.#sockets.delete(socket);
        if (socket === client || !(this.muffled || harm === 'within')) part();
      });
    }
    const prepared = new Map<string, string>();
    client.on('data', (sent: Buffer) => {
      this.sent += sent.toString('latin1');
      const bound = boundIn(sent, prepared);
      const named = bound.find(({ text }) => this.#trap && text.includes(this.#trap.at));
      const trap = this.#trap && (named || sent.includes(this.#trap.at)) ? this.#trap : undefined;
      if (trap) trap.hasSprung = true;
      if (trap && --trap.times === 0) this.#trap = undefined;
      harm = trap?.harm;
      if (trap?.harm === 'before') return part();
      if (trap?.harm === 'garble') sent.write('#', named?.at ?? sent.indexOf(trap.at));
      server.write(sent);
    });
    let held: Buffer[] = [];
    server.on('data', (answered: Buffer) => {
      if (this.heldMs > 0) {
        if (held.push(answered) > 1) return;
        this.trips++;
        setTimeout(() => {
          client.write(Buffer.concat(held));
          held = [];
        }, this.heldMs);
      } else if (harm === 'after') part();
      else if (harm === 'within') {
        client.end(answered.subarray(0, -END_BYTES));
        server.destroy();
      } else client.write(answered);
    });
  }
}

interface Bound {
  readonly text: string;
  /** Where its name stands. */
  readonly at: number;
}

/** The statements that are sent by their names alone; those that get a name are remembered. */
function boundIn(sent: Buffer, prepared: Map<string, string>): Bound[] {
  const found: Bound[] = [];
  for (let at = 0; at + 5 <= sent.length; at += 1 + sent.readUInt32BE(at + 1)) {
    const isParse = sent[at] === 0x50;
    if (!isParse && sent[at] !== 0x42) continue;
    const end = sent.indexOf(0, at + 5);
    const [first, second] = [
      sent.toString('latin1', at + 5, end),
      sent.toString('latin1', end + 1, sent.indexOf(0, end + 1)),
    ];
    // A name and its text; or a portal, which has none, and a name.
    if (isParse) prepared.set(first, second);
    else found.push({ text: prepared.get(second) ?? '', at: end + 1 });
  }
  return found;
}
