/** Reads `text/event-stream` in tests. */

import { type AppUnderTest, JSON_HEADERS, within } from './app.ts';

export interface Event {
  readonly event: string;
  readonly id: string | undefined;
  readonly data: any;
}

/** Reads events one by one, as a browser does. */
export class Listener implements AsyncDisposable {
  readonly response: Response;
  readonly #reader;
  readonly #decoder = new TextDecoder();
  #text = '';

  private constructor(response: Response) {
    this.response = response;
    this.#reader = (response.body as ReadableStream<Uint8Array>).getReader();
  }

  static async ask(
    app: Pick<AppUnderTest, 'fetch'>,
    query: string,
    variables: object = {},
    headers: Record<string, string> = {},
  ) {
    const body = JSON.stringify({ query, variables });
    const all = { ...JSON_HEADERS, Accept: 'text/event-stream', ...headers };
    return new Listener(await app.fetch('/graphql', { method: 'POST', headers: all, body }));
  }

  static async open(app: Pick<AppUnderTest, 'fetch'>, path: string, headers: Record<string, string> = {}) {
    return new Listener(await app.fetch(path, { headers: { Accept: 'text/event-stream', ...headers } }));
  }

  /** Several live answers on one stream. */
  static async share(
    app: Pick<AppUnderTest, 'fetch'>,
    queries: readonly string[],
    headers: Record<string, string> = {},
  ) {
    const all = { ...JSON_HEADERS, Accept: 'text/event-stream', ...headers };
    return new Listener(
      await app.fetch('/live', { method: 'POST', headers: all, body: JSON.stringify({ queries }) }),
    );
  }

  /** Undefined when the stream has ended. */
  async next(): Promise<Event | undefined> {
    for (;;) {
      const end = this.#text.indexOf('\n\n');
      if (end === -1) {
        const { done, value } = await within(20_000, this.#reader.read());
        if (done) return undefined;
        this.#text += this.#decoder.decode(value, { stream: true });
        continue;
      }
      const lines = this.#text.slice(0, end).split('\n');
      this.#text = this.#text.slice(end + 2);
      const field = (name: string) =>
        lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
      const data = lines.includes('data:') ? 'null' : field('data');
      if (data !== undefined)
        return { event: field('event') ?? 'message', id: field('id'), data: JSON.parse(data) };
    }
  }

  async take(count: number): Promise<Event[]> {
    const events: Event[] = [];
    while (events.length < count) {
      const event = await this.next();
      if (!event) break;
      events.push(event);
    }
    return events;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#reader.cancel();
  }
}
