/** What `build.ts` makes. */

interface BuiltFile {
  readonly type: string;
  /** How it is kept compressed. */
  readonly coding: 'br' | 'gzip';
  readonly path: string;
}

declare module '#console' {
  /** By URL. */
  export const files: Readonly<Record<string, BuiltFile>>;
}
