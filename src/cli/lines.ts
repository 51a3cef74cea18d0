/** A file that is read line by line, as often as needed, however large it is; one that is packed or piped is unpacked first. */

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

const CHUNK = 1024 * 1024;
/** RFC 1952, section 2.3.1. */
const GZIP = Buffer.from([0x1f, 0x8b]);

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
      if (name === '-') await promises.pipeline(process.stdin, createWriteStream(piped));
      const given = name === '-' ? piped : name;
      if (!isPacked(given)) return new Lines(given, folder);
      await promises.pipeline(createReadStream(given), createGunzip(), createWriteStream(plain));
      return new Lines(plain, folder);
    } catch (error) {
      rmSync(folder, { recursive: true });
      throw error;
    }
  }

  *all(): Iterable<string> {
    const file = openSync(this.#path, 'r');
    try {
      const chunk = Buffer.allocUnsafe(CHUNK);
      const decoder = new TextDecoder();
      let rest = '';
      for (let read = readSync(file, chunk); read > 0; read = readSync(file, chunk)) {
        const text = rest + decoder.decode(chunk.subarray(0, read), { stream: true });
        let from = 0;
        for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', from)) {
          yield text.slice(from, end);
          from = end + 1;
        }
        rest = text.slice(from);
      }
      if (rest !== '') yield rest;
    } finally {
      closeSync(file);
    }
  }

  [Symbol.dispose](): void {
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true });
  }
}
