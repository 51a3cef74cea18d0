/** One table of settings, from which parsing, `--help` and the documentation follow. */

import type { Level } from './observe.ts';
import type { DatabaseOptions } from './storage/open.ts';

interface Setting<T> {
  readonly env: string;
  /** Whatever may hold a secret is read from the environment only: everybody can list a process's arguments. */
  readonly flag: boolean;
  readonly default: string;
  readonly doc: string;
  /** What values there are; continues "must be". */
  readonly allowed: string;
  /** Undefined when the text is none of them. */
  readonly parse: (text: string) => T | undefined;
}

function setting<T>(row: Setting<T>): Setting<T> {
  return row;
}

function whole(least: number, most: number): Pick<Setting<number>, 'allowed' | 'parse'> {
  return {
    allowed: `a whole number from ${least} to ${most}`,
    parse(text) {
      const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
      return value >= least && value <= most ? value : undefined;
    },
  };
}

function oneOf<const T extends string>(...values: T[]): Pick<Setting<T>, 'allowed' | 'parse'> {
  return { allowed: `one of ${values.join(', ')}`, parse: (text) => values.find((value) => value === text) };
}

const anyText: Pick<Setting<string>, 'allowed' | 'parse'> = {
  allowed: 'some text',
  parse: (text) => (text === '' ? undefined : text),
};

type DatabaseUrl = DatabaseOptions['database'];

export const settings = {
  port: setting({
    env: 'PORT',
    flag: true,
    default: '4000',
    doc: 'The TCP port to listen on; 0 takes any free one.',
    ...whole(0, 65535),
  }),
  host: setting({
    env: 'HOST',
    flag: true,
    default: '127.0.0.1',
    doc: 'The address to listen on. Use 0.0.0.0 in production, behind a proxy that ends TLS.',
    ...anyText,
  }),
  database: setting<DatabaseUrl>({
    env: 'DATABASE_URL',
    flag: false,
    default: 'sqlite:duet.db',
    doc: 'Where the data is: `sqlite:FILE`, `sqlite::memory:` to keep nothing, or `postgres://USER:PASSWORD@HOST:PORT/NAME`.',
    allowed: 'sqlite:FILE, sqlite::memory: or postgres://USER:PASSWORD@HOST:PORT/NAME',
    parse(text) {
      if (/^postgres(ql)?:\/\//.test(text))
        return URL.canParse(text) ? { kind: 'postgres', url: text } : undefined;
      const path = text.startsWith('sqlite:') ? text.slice('sqlite:'.length) : '';
      return path === '' ? undefined : { kind: 'sqlite', path };
    },
  }),
  schema: setting({
    env: 'DUET_SCHEMA',
    flag: true,
    default: 'schema.graphql',
    doc: 'The SDL file that declares the resources.',
    ...anyText,
  }),
  data: setting({
    env: 'DUET_DATA',
    flag: true,
    default: 'data.json',
    doc: 'Records to load when the database is created. The default file may be missing.',
    ...anyText,
  }),
  databaseConnections: setting({
    env: 'DATABASE_CONNECTIONS',
    flag: true,
    default: '10',
    doc: 'PostgreSQL: how many connections a process opens at the most.',
    ...whole(1, 1000),
  }),
  databaseConnectTimeout: setting({
    env: 'DATABASE_CONNECT_TIMEOUT',
    flag: true,
    default: '2000',
    doc: 'PostgreSQL: how many milliseconds to wait for a connection, new or free, before the answer is 503.',
    ...whole(1, 60_000),
  }),
  databaseStatementTimeout: setting({
    env: 'DATABASE_STATEMENT_TIMEOUT',
    flag: true,
    default: '5000',
    doc: 'PostgreSQL: how many milliseconds a statement may take before the answer is 503.',
    ...whole(1, 600_000),
  }),
  databaseLockTimeout: setting({
    env: 'DATABASE_LOCK_TIMEOUT',
    flag: true,
    default: '2000',
    doc: 'PostgreSQL: how many milliseconds a statement may wait for a lock before the answer is 503.',
    ...whole(1, 600_000),
  }),
  workers: setting({
    env: 'WORKERS',
    flag: true,
    default: '1',
    doc: 'How many processes serve, behind one port.',
    ...whole(1, 1024),
  }),
  logLevel: setting<Level>({
    env: 'LOG_LEVEL',
    flag: true,
    default: 'info',
    doc: 'The least important level to log; `debug` adds the text of every SQL statement.',
    ...oneOf('debug', 'info', 'warn', 'error'),
  }),
  introspection: setting({
    env: 'INTROSPECTION',
    flag: true,
    default: 'on',
    doc: 'Whether clients may ask for the schema: GraphQL introspection and suggestions, `/schema.graphql`, `/openapi.json` and the page at `/`.',
    ...oneOf('on', 'off'),
  }),
  limitBody: setting({
    env: 'LIMIT_BODY',
    flag: true,
    default: '1048576',
    doc: 'The largest request body, in bytes.',
    ...whole(1, 1_073_741_824),
  }),
  limitJsonDepth: setting({
    env: 'LIMIT_JSON_DEPTH',
    flag: true,
    default: '32',
    doc: 'How deep a JSON body may nest.',
    ...whole(1, 1000),
  }),
  limitObjects: setting({
    env: 'LIMIT_OBJECTS',
    flag: true,
    default: '50000',
    doc: 'How many objects one answer may hold, nested ones included.',
    ...whole(1, 10_000_000),
  }),
  limitOperations: setting({
    env: 'LIMIT_OPERATIONS',
    flag: true,
    default: '1000',
    doc: 'How many operations one transaction may have.',
    ...whole(1, 1_000_000),
  }),
  limitUrl: setting({
    env: 'LIMIT_URL',
    flag: true,
    default: '8192',
    doc: 'The longest URL, in bytes.',
    ...whole(1, 65536),
  }),
  limitTokens: setting({
    env: 'LIMIT_TOKENS',
    flag: true,
    default: '2000',
    doc: 'GraphQL: how many tokens a document may have.',
    ...whole(1, 10_000),
  }),
  limitDepth: setting({
    env: 'LIMIT_DEPTH',
    flag: true,
    default: '10',
    doc: 'GraphQL: how deep an operation may nest fields, the innermost included.',
    ...whole(1, 1000),
  }),
  limitIntrospectionDepth: setting({
    env: 'LIMIT_INTROSPECTION_DEPTH',
    flag: true,
    default: '15',
    doc: 'GraphQL: the same for `__schema` and `__type`, which count for themselves.',
    ...whole(1, 1000),
  }),
  limitAliases: setting({
    env: 'LIMIT_ALIASES',
    flag: true,
    default: '30',
    doc: 'GraphQL: how many aliases an operation may have.',
    ...whole(0, 100_000),
  }),
  limitRootFields: setting({
    env: 'LIMIT_ROOT_FIELDS',
    flag: true,
    default: '30',
    doc: 'GraphQL: how many root fields an operation may have.',
    ...whole(1, 100_000),
  }),
  limitDirectives: setting({
    env: 'LIMIT_DIRECTIVES',
    flag: true,
    default: '50',
    doc: 'GraphQL: how many directives an operation may have.',
    ...whole(0, 100_000),
  }),
  limitDeadline: setting({
    env: 'LIMIT_DEADLINE',
    flag: true,
    default: '10000',
    doc: 'How many milliseconds a request may work before it is ended and answered 503.',
    ...whole(1, 120_000),
  }),
} as const;

type Name = keyof typeof settings;
type Values = { readonly [K in Name]: (typeof settings)[K] extends Setting<infer T> ? T : never };

export type Config = Values & {
  /** Which settings were given rather than left at their defaults. */
  readonly given: ReadonlySet<Name>;
};

export type ConfigReading =
  | { readonly config: Config; readonly fault?: never }
  | { readonly config?: never; readonly fault: string };

export function flagOf({ env }: { readonly env: string }): string {
  return `--${env
    .replace(/^DUET_/, '')
    .toLowerCase()
    .replaceAll('_', '-')}`;
}

export function readConfig(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): ConfigReading {
  const flags = readFlags(args);
  if (typeof flags === 'string') return { fault: flags };
  const values: Partial<Record<Name, unknown>> = {};
  const given = new Set<Name>();
  for (const name of Object.keys(settings) as Name[]) {
    const row: Setting<unknown> = settings[name];
    const flag = flags.get(name);
    const text = flag ?? env[row.env];
    if (text !== undefined) given.add(name);
    const value = row.parse(text ?? row.default);
    if (value === undefined) {
      // The value of an environment-only setting may be a secret, so it is not repeated.
      const shown = row.flag ? `, not "${text}"` : '';
      return { fault: `${flag === undefined ? row.env : flagOf(row)} must be ${row.allowed}${shown}` };
    }
    values[name] = value;
  }
  const config: Config = { ...(values as Values), given };
  if (config.workers > 1 && config.database.kind === 'sqlite' && config.database.path === ':memory:')
    return { fault: 'WORKERS must be 1 with sqlite::memory:, which one process alone can see' };
  return { config };
}

/** The fault as a string, or the texts by name of the setting. */
function readFlags(args: readonly string[]): Map<Name, string> | string {
  const names = new Map((Object.keys(settings) as Name[]).map((name) => [flagOf(settings[name]), name]));
  const found = new Map<Name, string>();
  for (let at = 0; at < args.length; at++) {
    const [flag = '', ...rest] = (args[at] ?? '').split('=');
    const name = names.get(flag);
    if (!name) return `unknown option "${flag}". \`duet --help\` lists them`;
    if (!settings[name].flag) return `${flag} is read from the environment only: set ${settings[name].env}`;
    const text = rest.length > 0 ? rest.join('=') : args[++at];
    if (text === undefined) return `${flag} needs a value`;
    found.set(name, text);
  }
  return found;
}
