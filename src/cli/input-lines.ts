/** A file that is read line by line, as often as needed, however large it is; one that is packed or piped is unpacked first. */

import { isUtf8 } from 'node:buffer';
import {
  closeSync,
  createReadStream,
  createWriteStream,
  mkdtempSync,
  openSync,
  readSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promises } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { FileFault } from '../engine/transfer/store.ts';

const CHUNK = 1024 * 1024;
const NEWLINE = 10;
/** Some editors begin a file with it. */
const MARK = Buffer.from('\ufeff');
/** RFC 1952, section 2.3.1. */
const GZIP = Buffer.from([0x1f, 0x8b]);

const UNDECODABLE = 'ERR_ENCODING_INVALID_ENCODED_DATA';

/** What a file begins with. */
export function headOf(path: string, length: number): Buffer {
  const file = openSync(path, 'r');
  try {
    const head = Buffer.alloc(length);
    return head.subarray(0, readSync(file, head, 0, length, 0));
  } finally {
    closeSync(file);
  }
}

export class Lines implements Disposable {
  readonly #path: string;
  readonly #folder: string | undefined;

  private constructor(path: string, folder: string | undefined) {
    this.#path = path;
    this.#folder = folder;
  }

  /** `-` is standard input. */
  static async open(name: string): Promise<Lines> {
    const isPacked = (path: string) => headOf(path, GZIP.length).equals(GZIP);
    if (name !== '-' && !isPacked(name)) return new Lines(name, undefined);
    const folder = mkdtempSync(join(tmpdir(), 'duet-lines-'));
    try {
      const [piped, plain] = [join(folder, 'piped'), join(folder, 'plain')];
      // `process.stdin` of Bun 1.4.4 loses the end of a pipe now and then, when processors are busy (15 of 600).
      if (name === '-') await promises.pipeline(Bun.stdin.stream(), createWriteStream(piped));
      const given = name === '-' ? piped : name;
      if (!isPacked(given)) return new Lines(given, folder);
      await promises.pipeline(createReadStream(given), createGunzip(), createWriteStream(plain));
      return new Lines(plain, folder);
    } catch (error) {
      rmSync(folder, { recursive: true });
      throw error;
    }
  }

  /** All but those that `isKnown` recognises by their bytes: to find the end of a line is far less work than to decode it. */
  *all(isKnown?: (bytes: Uint8Array, from: number, to: number) => boolean): Iterable<string> {
    const file = openSync(this.#path, 'r');
    // What is no UTF-8 would become U+FFFD without a word, and be stored so.
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true, fatal: true });
    try {
      let chunk = Buffer.allocUnsafe(CHUNK);
      let position = headOf(this.#path, MARK.length).equals(MARK) ? MARK.length : 0;
      // Of a line whose end is still to come.
      let held = 0;
      for (;;) {
        const read = readSync(file, chunk, held, chunk.length - held, position);
        if (read === 0) break;
        position += read;
        const bytes = chunk.subarray(0, held + read);
        const end = bytes.lastIndexOf(NEWLINE) + 1;
        if (isKnown) yield* unknown(bytes.subarray(0, end), isKnown, decoder);
        else yield* split(decoder.decode(bytes.subarray(0, end)));
        held = bytes.length - end;
        if (held === chunk.length) chunk = Buffer.concat([chunk], 2 * held);
        else chunk.copyWithin(0, end, bytes.length);
      }
      const last = chunk.subarray(0, held);
      if (held > 0 && !isKnown?.(last, 0, held)) yield decoder.decode(last);
    } catch (error) {
      throw (error as NodeJS.ErrnoException).code === UNDECODABLE ? this.#odd() : error;
    } finally {
      closeSync(file);
    }
  }

  /** Which line it is that cannot be decoded: to count them all the time would be work for nobody. */
  #odd(): FileFault {
    let line = 0;
    let odd = 0;
    const look = (bytes: Uint8Array, from: number, to: number) => {
      line++;
      if (odd === 0 && !isUtf8(bytes.subarray(from, to))) odd = line;
      return true;
    };
    for (const _ of this.all(look));
    return new FileFault(`line ${odd} is not UTF-8; save the file as UTF-8`);
  }

  [Symbol.dispose](): void {
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true });
  }
}

function* unknown(
  bytes: Buffer,
  isKnown: (bytes: Uint8Array, from: number, to: number) => boolean,
  decoder: TextDecoder,
): Iterable<string> {
  let from = 0;
  for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, from)) {
    if (!isKnown(bytes, from, end)) yield decoder.decode(bytes.subarray(from, end));
    from = end + 1;
  }
}

function* split(text: string): Iterable<string> {
  let from = 0;
  for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', from)) {
    yield text.slice(from, end);
    from = end + 1;
  }
}
