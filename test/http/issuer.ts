/** An issuer of tokens on the loopback, whose keys, tempers and outages a test decides. */

import { type CryptoKey, exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';

export const ISSUER = 'https://issuer.test/';
export const AUDIENCE = 'duet';

interface Pair {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: CryptoKey;
  readonly publicKey: CryptoKey;
}

export class Issuer implements AsyncDisposable {
  readonly #server: ReturnType<typeof Bun.serve>;
  #pairs: Pair[] = [];
  mood: 'well' | 'failing' | 'hanging' | 'redirecting' | 'boundless' | 'babbling' = 'well';
  /** How often its keys were asked for. */
  asked = 0;

  private constructor() {
    this.#server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: async ({ url }) => {
        if (url.endsWith('/elsewhere')) return Response.json({ keys: await this.#published() });
        this.asked++;
        if (this.mood === 'redirecting') return Response.redirect('/elsewhere');
        if (this.mood === 'babbling') return new Response('<html>');
        if (this.mood === 'boundless') return new Response(endless());
        if (this.mood === 'failing') return new Response('no', { status: 500 });
        if (this.mood === 'hanging') await Bun.sleep(60_000);
        return Response.json({ keys: await this.#published() });
      },
    });
  }

  static async start(alg = 'ES256'): Promise<Issuer> {
    const issuer = new Issuer();
    await issuer.rotate(alg);
    return issuer;
  }

  get env(): Record<string, string> {
    return {
      AUTH_JWKS_URL: `http://127.0.0.1:${this.#server.port}/keys`,
      AUTH_ISSUER: ISSUER,
      AUTH_AUDIENCE: AUDIENCE,
    };
  }

  /** Publishes a new key alone, and signs with it from now on. */
  async rotate(alg = 'ES256'): Promise<void> {
    this.#pairs = [{ kid: crypto.randomUUID(), alg, ...(await generateKeyPair(alg, { extractable: true })) }];
  }

  #published() {
    return Promise.all(this.#pairs.map(published));
  }

  get key(): Pair {
    const [pair] = this.#pairs;
    if (!pair) throw new Error('the issuer has no key');
    return pair;
  }

  sign(claims: JWTPayload = {}, header: Record<string, unknown> = {}): Promise<string> {
    const { kid, alg, privateKey } = this.key;
    return new SignJWT(sound(claims)).setProtectedHeader({ alg, kid, ...header }).sign(privateKey);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop(true);
  }
}

/** Claims that do, but for what the test says; `undefined` leaves a claim out. */
export function sound(claims: Record<string, unknown>): JWTPayload {
  const exp = Math.floor(Date.now() / 1000) + 300;
  const all = { iss: ISSUER, aud: AUDIENCE, sub: 'ann', exp, ...claims };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

async function published({ kid, alg, publicKey }: Pair) {
  return { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' };
}

export function bearer(token: string): Record<string, string> {
  return { Authorization: `Bearer ${token}` };
}

function endless(): ReadableStream {
  const chunk = new Uint8Array(65536).fill(32);
  return new ReadableStream({ pull: (controller) => controller.enqueue(chunk) });
}
