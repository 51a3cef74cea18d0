/** The index of SQLite's write-ahead log, mapped into memory: tells for next to nothing whether anybody has committed. */

import { dlopen, FFIType, type Pointer, toArrayBuffer } from 'bun:ffi';
import { closeSync, fstatSync, openSync, realpathSync, statSync } from 'node:fs';

/** https://www.sqlite.org/walformat.html, section 2.1: a header of 48 bytes, in words of this machine. */
const HEADER_BYTES = 48;
const VERSION = 3007000;
/** Where it has its version, the number of the last commit, the pages in the log, and two sums over all of it. */
const [AT_VERSION, AT_COMMIT, AT_FRAMES, AT_SUM, AT_OTHER_SUM] = [0, 2, 4, 10, 11] as const;

const PROT_READ = 1;
const MAP_SHARED = 1;
const FAILED = -1;
const libraries: Partial<Record<NodeJS.Platform, string>> = {
  linux: 'libc.so.6',
  darwin: 'libSystem.B.dylib',
};

/**
 * Files that were opened, by path; closed only when they are nobody's index any more: closing any descriptor of a file
 * gives up all locks that this process has on it (POSIX, fcntl), those of SQLite too.
 */
const opened = new Map<string, number>();

export class WalIndex {
  #header: Uint32Array;
  readonly #unmap: () => void;
  #commit = 0;
  #sum = 0;
  #otherSum = 0;

  private constructor(header: Uint32Array, unmap: () => void) {
    this.#header = header;
    this.#unmap = unmap;
  }

  /** Of a database that is open, and has been read; undefined where the index cannot be mapped. */
  static of(database: string): WalIndex | undefined {
    const library = libraries[process.platform];
    if (!library) return undefined;
    try {
      const { symbols } = dlopen(library, {
        mmap: {
          args: [FFIType.ptr, FFIType.u64, FFIType.i32, FFIType.i32, FFIType.i32, FFIType.i64],
          returns: FFIType.ptr,
        },
        munmap: { args: [FFIType.ptr, FFIType.u64], returns: FFIType.i32 },
      });
      const file = descriptorOf(`${realpathSync(database)}-shm`);
      const at = symbols.mmap(null, HEADER_BYTES, PROT_READ, MAP_SHARED, file, 0);
      if (at === null || Number(at) === FAILED) return undefined;
      const header = new Uint32Array(toArrayBuffer(at as Pointer, 0, HEADER_BYTES));
      const unmap = () => symbols.munmap(at, HEADER_BYTES);
      if (header[AT_VERSION] === VERSION) return new WalIndex(header, unmap);
      unmap();
    } catch {
      // Another libc, or a file system without it: then each read looks for itself.
    }
    return undefined;
  }

  /** Whether nobody has committed since `look`. */
  get isSame(): boolean {
    const header = this.#header;
    return (
      header[AT_COMMIT] === this.#commit &&
      header[AT_SUM] === this.#sum &&
      header[AT_OTHER_SUM] === this.#otherSum
    );
  }

  /** How many pages are in the log. */
  get frames(): number {
    return this.#header[AT_FRAMES] ?? 0;
  }

  /** Whether anybody has committed since the last time. */
  look(): boolean {
    const [commit, sum, otherSum] = [this.#commit, this.#sum, this.#otherSum];
    this.#commit = this.#header[AT_COMMIT] ?? 0;
    this.#sum = this.#header[AT_SUM] ?? 0;
    this.#otherSum = this.#header[AT_OTHER_SUM] ?? 0;
    return commit !== this.#commit || sum !== this.#sum || otherSum !== this.#otherSum;
  }

  /** Before the database is closed: what is mapped may be cut short by whoever opens it next. */
  close(): void {
    // Whatever still runs in the background may look once more: at memory that is gone, that would end the process.
    this.#header = new Uint32Array(HEADER_BYTES / Uint32Array.BYTES_PER_ELEMENT);
    this.#unmap();
  }
}

function descriptorOf(path: string): number {
  const known = opened.get(path);
  if (known !== undefined && fstatSync(known).ino === statSync(path).ino) return known;
  const file = openSync(path, 'r');
  if (known !== undefined) closeSync(known);
  opened.set(path, file);
  return file;
}
