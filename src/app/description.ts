/** What the server says of itself: long, seldom asked for, and the same for everybody; made when somebody asks. */

import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Soon } from '../base/soon.ts';
import { Turns } from '../base/turns.ts';
import { preferredCoding } from '../http/accept.ts';
import { answer } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';

interface Texts {
  readonly plain: string;
  readonly zipped: Uint8Array<ArrayBuffer>;
}

const zip = promisify(gzip) as (text: string) => Promise<Uint8Array<ArrayBuffer>>;

export class Description {
  readonly #make: () => Iterable<string>;
  readonly #type: string;
  #texts: Texts | undefined;
  /** Who asks while it is made waits for the same. */
  #making: Promise<Texts> | undefined;

  constructor(make: () => Iterable<string>, type: string) {
    this.#make = make;
    this.#type = type;
  }

  answer({ request }: Exchange): Soon<Response> {
    if (this.#texts) return this.#respond(request, this.#texts);
    this.#making ??= this.#put().finally(() => {
      this.#making = undefined;
    });
    return this.#making.then((texts) => this.#respond(request, texts));
  }

  /** Piece by piece, with a turn for others in between. */
  async #put(): Promise<Texts> {
    const pieces: string[] = [];
    const turns = new Turns();
    for (const piece of this.#make()) {
      pieces.push(piece);
      await turns.next();
    }
    const plain = pieces.join('');
    this.#texts = { plain, zipped: await zip(plain) };
    return this.#texts;
  }

  #respond(request: Request, { plain, zipped }: Texts): Response {
    const fields = { 'Content-Type': this.#type, Vary: 'Accept-Encoding' };
    return preferredCoding(request, ['gzip'])
      ? answer(200, zipped, { ...fields, 'Content-Encoding': 'gzip' })
      : answer(200, plain, fields);
  }
}
