/** Where backups are kept: a file, the files of a folder, or the objects of a bucket, by the same few operations. */

import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { StartFault } from '../app/deployment.ts';

/** How a backup of a folder is called: by the time of its beginning, so that the last name is the newest. */
const NAMED = /^duet-(\d{8}T\d{6}\.\d{3}Z)\.(?:db|ndjson\.gz)$/;

const WORKSPACE = '.duet-backup-';
/** What was killed, or lost its power, could not clear up after itself; nobody works for so long. */
const ABANDONED_MS = 7 * 86_400_000;

export type Ending = 'db' | 'ndjson.gz';

export function nameAt(time: Date, ending: Ending): string {
  return `duet-${time.toISOString().replaceAll(/[-:]/g, '')}.${ending}`;
}

/** When a backup was begun, by its name. */
export function timeOf(name: string): number {
  const [, digits = ''] = NAMED.exec(name) ?? [];
  return Date.parse(
    digits.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\.\d+Z)$/, '$1-$2-$3T$4:$5:$6$7'),
  );
}

export interface Place {
  /** The name that was given; undefined where that is a folder, in which backups are named by their time. */
  readonly file: string | undefined;
  /** How the operator calls what has this name. */
  title(name: string): string;
  has(name: string): Promise<boolean>;
  /** The backups of a folder, the newest last. */
  names(): Promise<string[]>;
  /** A folder to make one in, which `store` takes it from. */
  workspace(): string;
  /** What lies in the workspace gets its name. */
  store(path: string, name: string): Promise<void>;
  read(name: string): AsyncIterable<Uint8Array>;
  remove(name: string): Promise<void>;
}

/** A folder is one that is there, or whose name ends with a slash. */
export function placeOf(target: string): Place {
  return target.startsWith('s3://') ? new BucketPlace(target) : new FolderPlace(target);
}

class FolderPlace implements Place {
  readonly file: string | undefined;
  readonly #folder: string;

  constructor(target: string) {
    const isFolder = target.endsWith('/') || (existsSync(target) && statSync(target).isDirectory());
    this.file = isFolder ? undefined : basename(target);
    this.#folder = isFolder ? target : dirname(target);
  }

  title(name: string): string {
    return join(this.#folder, name);
  }

  async has(name: string): Promise<boolean> {
    return existsSync(this.title(name));
  }

  async names(): Promise<string[]> {
    if (!existsSync(this.#folder)) return [];
    return readdirSync(this.#folder)
      .filter((name) => NAMED.test(name))
      .sort();
  }

  /** On the same disk, so that a backup gets its name when it is whole. */
  workspace(): string {
    mkdirSync(this.#folder, { recursive: true });
    for (const name of readdirSync(this.#folder).filter((each) => each.startsWith(WORKSPACE))) {
      const left = join(this.#folder, name);
      if (Date.now() - statSync(left).mtimeMs > ABANDONED_MS) rmSync(left, { recursive: true });
    }
    return mkdtempSync(join(this.#folder, WORKSPACE));
  }

  async store(path: string, name: string): Promise<void> {
    sync(path);
    renameSync(path, this.title(name));
    sync(this.#folder);
  }

  read(name: string): AsyncIterable<Uint8Array> {
    return Bun.file(this.title(name)).stream();
  }

  async remove(name: string): Promise<void> {
    rmSync(this.title(name));
  }
}

/** SQLite does not wait for the disk when it makes a copy, nor does the system by itself. */
export function sync(path: string): void {
  const file = openSync(path, 'r');
  fsyncSync(file);
  closeSync(file);
}

/** Whatever speaks the protocol of S3; where it is and who asks, the environment says, as for other tools. */
class BucketPlace implements Place {
  readonly file: string | undefined;
  readonly #bucket: string;
  readonly #prefix: string;
  readonly #client: Bun.S3Client;

  constructor(target: string) {
    const [, bucket = '', key = ''] = /^s3:\/\/([^/]+)\/?(.*)$/.exec(target) ?? [];
    if (bucket === '') throw new StartFault(`${target} names no bucket: write s3://BUCKET/FOLDER/`);
    const end = key.lastIndexOf('/') + 1;
    this.#bucket = bucket;
    this.#prefix = key.slice(0, end);
    this.file = key.slice(end) || undefined;
    this.#client = new Bun.S3Client({ bucket });
  }

  title(name: string): string {
    return `s3://${this.#bucket}/${this.#prefix}${name}`;
  }

  has(name: string): Promise<boolean> {
    return this.#explained(() => this.#client.exists(this.#prefix + name));
  }

  async names(): Promise<string[]> {
    const found: string[] = [];
    for (let startAfter: string | undefined; ; ) {
      const options = { prefix: this.#prefix, ...(startAfter === undefined ? {} : { startAfter }) };
      const { contents = [], isTruncated } = await this.#explained(() => this.#client.list(options));
      found.push(...contents.map(({ key }) => key.slice(this.#prefix.length)));
      startAfter = contents.at(-1)?.key;
      if (!isTruncated || startAfter === undefined) return found.filter((name) => NAMED.test(name)).sort();
    }
  }

  workspace(): string {
    return mkdtempSync(join(tmpdir(), 'duet-backup-'));
  }

  async store(path: string, name: string): Promise<void> {
    await this.#explained(() => this.#client.write(this.#prefix + name, Bun.file(path)));
  }

  read(name: string): AsyncIterable<Uint8Array> {
    return this.#client.file(this.#prefix + name).stream();
  }

  async remove(name: string): Promise<void> {
    await this.#explained(() => this.#client.delete(this.#prefix + name));
  }

  async #explained<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const { code = '', message } = error as Error & { code?: string };
      throw new StartFault(
        `s3://${this.#bucket} cannot be used (${code} ${message}). S3_ENDPOINT, S3_REGION, S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY say where it is and who asks`,
      );
    }
  }
}

export async function hashOf(bytes: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = new Bun.CryptoHasher('sha256');
  for await (const chunk of bytes) hash.update(chunk);
  return hash.digest('hex');
}
