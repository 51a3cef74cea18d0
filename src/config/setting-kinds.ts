/** What a setting is, and the kinds of values that there are. */

import type { Rate } from '../http/guard/rate-limits.ts';

export interface Setting<T> {
  readonly env: string;
  /** Whatever may hold a secret is read from the environment only: everybody can list a process's arguments. */
  readonly flag: boolean;
  readonly default: string;
  readonly doc: string;
  /** Whether a server has to be started anew to take up another value: a reload refuses it. */
  readonly fixed?: true;
  /** What values there are; continues "must be". */
  readonly allowed: string;
  /** Undefined when the text is none of them. */
  readonly parse: (text: string) => T | undefined;
}

export function setting<T>(row: Setting<T>): Setting<T> {
  return row;
}

export function whole(least: number, most: number): Pick<Setting<number>, 'allowed' | 'parse'> {
  return {
    allowed: `a whole number from ${least} to ${most}`,
    parse(text) {
      const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
      return value >= least && value <= most ? value : undefined;
    },
  };
}

export function oneOf<const T extends string>(...values: T[]): Pick<Setting<T>, 'allowed' | 'parse'> {
  return { allowed: `one of ${values.join(', ')}`, parse: (text) => values.find((value) => value === text) };
}

export const anyText: Pick<Setting<string>, 'allowed' | 'parse'> = {
  allowed: 'some text',
  parse: (text) => (text === '' ? undefined : text),
};

/** What may be left out: `none`, and never an empty text, which is what a variable that somebody forgot looks like. */
export function optional<T>(
  allowed: string,
  parse: (text: string) => T | undefined,
): Pick<Setting<T | null>, 'default' | 'allowed' | 'parse'> {
  return { default: 'none', allowed, parse: (text) => (text === 'none' ? null : parse(text)) };
}

/** `name=value,name=value`, as the specification of OpenTelemetry has it: values may be percent-encoded. */
export function readHeaders(text: string): Readonly<Record<string, string>> | undefined {
  const pairs = text.split(',').map((pair) => /^\s*([\w-]+)\s*=\s*(.*?)\s*$/.exec(pair));
  try {
    return pairs.every((pair) => pair !== null)
      ? Object.fromEntries(pairs.map(([, name = '', value = '']) => [name, decodeURIComponent(value)]))
      : undefined;
  } catch {
    return undefined;
  }
}

export function readShare(text: string): number | undefined {
  return /^(0(\.\d+)?|1(\.0+)?)$/.test(text) ? Number(text) : undefined;
}

/** With fewer bytes than its hash has, the key of an HMAC can be guessed (RFC 7518, section 3.2). */
export const SHORTEST_SECRET = 32;

const UNITS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `90s`, `15m`, `6h` or `1d`, in milliseconds. */
export function readDuration(text: string): number | undefined {
  const [, number, unit = ''] = /^([1-9]\d{0,4})([smhd])$/.exec(text) ?? [];
  return number === undefined ? undefined : Number(number) * (UNITS[unit] ?? 0);
}

export function readRate(text: string): Rate | undefined {
  const [, units, seconds] = /^([1-9]\d{0,8})\/([1-9]\d{0,4})$/.exec(text) ?? [];
  return units === undefined ? undefined : { units: Number(units), seconds: Number(seconds) };
}

/** `*` alone, or origins as browsers write them. */
export function readOrigins(text: string): readonly string[] | undefined {
  const origins = text.split(',').map((origin) => origin.trim());
  const sound = text === '*' || origins.every((origin) => URL.parse(origin)?.origin === origin);
  return sound ? origins : undefined;
}

export function readSecret(text: string): string | undefined {
  return Buffer.byteLength(text) >= SHORTEST_SECRET ? text : undefined;
}

export function readUrl(...schemes: string[]): (text: string) => string | undefined {
  return (text) => {
    const scheme = URL.parse(text)?.protocol.slice(0, -1) ?? '';
    return schemes.includes(scheme) && text.startsWith(`${scheme}://`) ? text : undefined;
  };
}
