/** What `build.ts` makes. */

declare module '#console' {
  /** By URL; each is kept compressed by gzip. */
  export const files: Readonly<Record<string, { readonly type: string; readonly path: string }>>;
}
