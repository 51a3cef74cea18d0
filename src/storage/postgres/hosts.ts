/** The servers that a URL names, and which of them will do: several hosts, with the words that libpq has for it. */

export const sessionAttributes = [
  'any',
  'read-write',
  'read-only',
  'primary',
  'standby',
  'prefer-standby',
] as const;

export type SessionAttribute = (typeof sessionAttributes)[number];

export interface Hosts {
  /** One for each host, in the order in which they are tried. */
  readonly urls: readonly [string, ...string[]];
  /** Undefined where the URL does not say. */
  readonly wanted: SessionAttribute | undefined;
}

const PARAMETER = 'target_session_attrs';

/** `postgres://user:password@one:5432,two:5432/name`; undefined where it cannot be read so. */
export function readHosts(text: string): Hosts | undefined {
  const [, before, hosts = '', after] =
    /^(postgres(?:ql)?:\/\/(?:[^@/?#]*@)?)([^/?#]*)(.*)$/s.exec(text) ?? [];
  const wanted = new URLSearchParams(/\?([^#]*)/.exec(after ?? '')?.[1]).get(PARAMETER) ?? undefined;
  if (wanted !== undefined && !isAttribute(wanted)) return undefined;
  const [first, ...others] = hosts.split(',').map((host) => `${before}${host}${after}`);
  const isReadable = first !== undefined && [first, ...others].every((url) => URL.canParse(url));
  if (before === undefined || !isReadable || (others.length > 0 && /(^|,)(,|$)/.test(hosts)))
    return undefined;
  return { urls: [withoutParameter(first), ...others.map(withoutParameter)], wanted };
}

function isAttribute(text: string): text is SessionAttribute {
  return sessionAttributes.some((each) => each === text);
}

/** The driver would hand on to the server what it does not know. */
function withoutParameter(text: string): string {
  const url = new URL(text);
  if (!url.searchParams.has(PARAMETER)) return text;
  url.searchParams.delete(PARAMETER);
  return url.href;
}

/** Host and port, without the password. */
export function nameOf(url: string): string {
  const { hostname, port } = new URL(url);
  return `${hostname || 'localhost'}:${port || 5432}`;
}

/** What a session says of its server. */
export interface Role {
  /** Whether it follows another server. */
  readonly standby: boolean;
  /** Whether nothing can be written: a standby, or one that is set so. */
  readonly readOnly: boolean;
}

export const ROLE = `pg_is_in_recovery() AS "standby", current_setting('transaction_read_only') = 'on' AS "readOnly"`;

/** What is wrong with a server; undefined where it will do. */
export function unfit(
  wanted: Exclude<SessionAttribute, 'prefer-standby'>,
  { standby, readOnly }: Role,
): string | undefined {
  if (wanted === 'standby' || wanted === 'primary')
    return standby === (wanted === 'standby') ? undefined : `it is ${standby ? 'a' : 'no'} standby`;
  if (wanted === 'any' || readOnly === (wanted === 'read-only')) return undefined;
  return standby ? 'it is a standby' : `it is ${readOnly ? '' : 'not '}read-only`;
}
