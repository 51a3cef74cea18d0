/** The keys that an issuer of tokens publishes: fetched when first needed, renewed beside the work, kept through outages. */

import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import { DuetError } from '../../base/errors.ts';

/** A key that the issuer has withdrawn is trusted for no longer than this while the issuer can be reached. */
const FRESH_MS = 10 * 60 * 1000;
/** How soon an issuer that could not be reached is tried again. */
const RETRY_MS = 30_000;
/** Tokens with made-up key ids must not make us storm the issuer. */
const COOL_DOWN_MS = 5000;
const PATIENCE_MS = 3000;
const LARGEST = 1024 * 1024;

export class KeySet {
  readonly #url: string;
  #keys: ReturnType<typeof createLocalJWKSet> | undefined;
  #renewing: Promise<void> | undefined;
  #triedAt = Number.NEGATIVE_INFINITY;
  #failure: unknown;
  #next: Timer | undefined;

  /** Whether nobody will ask any more: then there is nothing to renew. */
  readonly #closed: AbortSignal;

  constructor(url: string, closed: AbortSignal) {
    this.#url = url;
    this.#closed = closed;
  }

  /** The key that a token names. Whoever names a known one never waits for the issuer. */
  readonly keyOf: JWTVerifyGetKey = async (header, token) => {
    if (!this.#keys) await this.#renew();
    try {
      return await this.#known(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      // The issuer may have a new key.
      await this.#renew();
      return this.#known(header, token);
    }
  };

  get #known(): JWTVerifyGetKey {
    if (!this.#keys) throw new Error('there are no keys yet');
    return this.#keys;
  }

  /** Everybody who needs new keys waits for the same answer; it is not asked for again before the cool-down is over. */
  async #renew(): Promise<void> {
    if (!this.#renewing && performance.now() - this.#triedAt > COOL_DOWN_MS) {
      this.#triedAt = performance.now();
      this.#renewing = this.#fetch().finally(() => {
        this.#renewing = undefined;
      });
    }
    await this.#renewing;
    // Without an answer nobody can tell whether the token is good.
    if (this.#failure === undefined) return;
    const error = new DuetError(
      'UNAVAILABLE',
      'The keys of the token issuer cannot be fetched now; retry later.',
      {
        headers: { 'Retry-After': String(COOL_DOWN_MS / 1000) },
      },
    );
    error.cause = this.#failure;
    throw error;
  }

  async #fetch(): Promise<void> {
    try {
      // A redirect would let another server say whom to trust.
      const response = await fetch(this.#url, {
        redirect: 'error',
        signal: AbortSignal.timeout(PATIENCE_MS),
        headers: { Accept: 'application/jwk-set+json, application/json' },
      });
      if (!response.ok) throw new Error(`the issuer answered ${response.status}`);
      this.#keys = createLocalJWKSet(await readSet(response));
      this.#failure = undefined;
    } catch (error) {
      this.#failure = error;
    }
    // By the clock and not by the next token: after a quiet hour, that one would be judged by keys an hour old.
    clearTimeout(this.#next);
    const soon = this.#failure === undefined ? FRESH_MS : RETRY_MS;
    this.#next = setTimeout(() => this.#closed.aborted || this.#renew().catch(() => {}), soon).unref();
  }
}

async function readSet(response: Response): Promise<JSONWebKeySet> {
  let text = '';
  for await (const chunk of (response.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
    text += chunk;
    if (text.length > LARGEST) throw new Error('the key set of the issuer is too large');
  }
  return JSON.parse(text);
}
