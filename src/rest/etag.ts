/** Strong entity tags, made from a row's version and the schema's fingerprint. */

import { DuetError } from '../base/errors.ts';
import { plainTag } from '../http/compress.ts';

/** `shown`: what the caller is shown, where that is not the same for everybody. */
export function etag(version: unknown, fingerprint: string, shown?: string): string {
  const own = shown === undefined ? '' : `-${Bun.hash(shown).toString(36)}`;
  return `"${version}-${fingerprint}${own}"`;
}

/**
 * The versions that an If-Match header admits; undefined when it demands none.
 * Tags of another schema, weak tags and malformed ones admit nothing (RFC 9110, section 13.1.1: strong comparison).
 */
export function versionsOf(header: string | null, fingerprint: string): number[] | undefined {
  if (header === null || header.trim() === '*') return undefined;
  return tags(header).flatMap((tag) => versionIn(tag, fingerprint));
}

/** The versions that an If-None-Match header excludes from being written (section 13.1.2: weak comparison). */
export function excludedBy(header: string | null, fingerprint: string): number[] | 'any' | undefined {
  if (header === null) return undefined;
  // Sent twice, it is joined.
  if (/^[\s,]*\*/.test(header)) return 'any';
  return tags(header).flatMap((tag) => versionIn(strong(tag), fingerprint));
}

/** `"5"` alone is the version that `_version` tells, under whatever schema it was read. */
function versionIn(tag: string, fingerprint: string): number[] {
  const [, version, of = fingerprint] = /^"(\d{1,10})(?:-([0-9a-z]+)(?:-[0-9a-z]+)?)?"$/.exec(tag) ?? [];
  return version !== undefined && of === fingerprint ? [Number(version)] : [];
}

/** What has no version of its own has none that is stated (RFC 9110, section 13.1.1). */
export function refuseIfMatch({ headers }: Request, cure: string): void {
  if (headers.has('If-Match'))
    throw new DuetError(
      'VERSION_CONFLICT',
      `What is asked for here has no ETag that If-Match could state. ${cure}`,
    );
}

/** The tag of the copy that If-None-Match says the client has, if that is as good as the answer; a weak comparison (section 13.1.2). */
export function sameCopy(header: string | null, tag: string): string | undefined {
  if (header === null) return undefined;
  if (header.trim() === '*') return tag;
  // As it was sent: copies of other codings have other tags, and a cache finds by it which of them is still good.
  return listed(header)
    .map(strong)
    .find((each) => plainTag(each) === tag);
}

function strong(tag: string): string {
  return tag.replace(/^W\//, '');
}

function tags(header: string): string[] {
  return listed(header).map(plainTag);
}

function listed(header: string): string[] {
  return header.match(/(?:W\/)?"[^"]*"/g) ?? [];
}
