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
}

export class Wire implements Disposable {
  readonly #server: net.Server;
  readonly #sockets = new Set<net.Socket>();
  #trap: Trap | undefined;
  /** All that was sent to the server. */
  sent = '';
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
    this.#trap = { harm, at, times };
  }

  /** The next time these bytes are sent, the server cannot read them. */
  garble(at: string): void {
    this.#trap = { harm: 'garble', at, times: 1 };
  }

  /** Whether what was laid has sprung. */
  get sprung(): boolean {
    return this.#trap === undefined;
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
    client.on('data', (sent: Buffer) => {
      this.sent += sent.toString('latin1');
      const trap = this.#trap && sent.includes(this.#trap.at) ? this.#trap : undefined;
      if (trap && --trap.times === 0) this.#trap = undefined;
      harm = trap?.harm;
      if (trap?.harm === 'before') return part();
      if (trap?.harm === 'garble') sent.write('#'.repeat(trap.at.length), sent.indexOf(trap.at));
      server.write(sent);
    });
    server.on('data', (answered: Buffer) => {
      if (harm === 'after') part();
      else if (harm === 'within') {
        client.end(answered.subarray(0, -END_BYTES));
        server.destroy();
      } else client.write(answered);
    });
  }
}
