/** One table of settings, from which parsing, `--help` and the documentation follow. */

import type { DocumentLimits } from './graphql/limits.ts';
import { readNetworks } from './http/address.ts';
import type { Level } from './observe.ts';
import {
  anyText,
  oneOf,
  optional,
  readOrigins,
  readRate,
  readSecret,
  readUrl,
  type Setting,
  SHORTEST_SECRET,
  setting,
  whole,
} from './setting.ts';
import type { DatabaseOptions } from './storage/open.ts';

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
  authJwksUrl: setting({
    env: 'AUTH_JWKS_URL',
    flag: true,
    doc: 'Where the issuer of bearer tokens publishes its keys.',
    ...optional('an https:// or http:// URL', readUrl('https', 'http')),
  }),
  authSecret: setting({
    env: 'AUTH_SECRET',
    flag: false,
    doc: 'The secret that bearer tokens are signed with (HS256), where no issuer publishes keys: 32 bytes or more.',
    ...optional(`at least ${SHORTEST_SECRET} bytes long`, readSecret),
  }),
  authIssuer: setting({
    env: 'AUTH_ISSUER',
    flag: true,
    doc: 'The `iss` that tokens must have.',
    ...optional('some text', anyText.parse),
  }),
  authAudience: setting({
    env: 'AUTH_AUDIENCE',
    flag: true,
    doc: 'The `aud` that tokens must have.',
    ...optional('some text', anyText.parse),
  }),
  authKeys: setting({
    env: 'AUTH_KEYS',
    flag: true,
    default: 'off',
    doc: 'Turns authentication on for API keys alone; with `AUTH_JWKS_URL` or `AUTH_SECRET` they are accepted too.',
    ...oneOf('on', 'off'),
  }),
  corsOrigins: setting({
    env: 'CORS_ORIGINS',
    flag: true,
    doc: 'The origins whose pages may call this service, with commas between them, such as `https://app.example.com`; `*` for all.',
    ...optional('origins like https://app.example.com with commas between them, or *', readOrigins),
  }),
  rateLimitAddress: setting({
    env: 'RATE_LIMIT_ADDRESS',
    flag: true,
    doc: 'How much one address may ask for: units per seconds, such as `600/60`. What an operation costs is in docs/security.md.',
    ...optional('UNITS/SECONDS, such as 600/60', readRate),
  }),
  rateLimitCaller: setting({
    env: 'RATE_LIMIT_CALLER',
    flag: true,
    doc: 'The same for one caller, wherever it asks from.',
    ...optional('UNITS/SECONDS, such as 600/60', readRate),
  }),
  trustedProxies: setting({
    env: 'TRUSTED_PROXIES',
    flag: true,
    doc: 'The addresses and networks of proxies whose `X-Forwarded-For` is believed, with commas between them, such as `10.0.0.0/8`.',
    ...optional('addresses or networks like 10.0.0.0/8 with commas between them', readNetworks),
  }),
  redisUrl: setting({
    env: 'REDIS_URL',
    flag: false,
    doc: 'A Redis through which all processes and nodes share their rate limits: `redis://` or `rediss://`.',
    ...optional('redis://USER:PASSWORD@HOST:PORT or rediss://…', readUrl('redis', 'rediss')),
  }),
  trustedDocuments: setting({
    env: 'TRUSTED_DOCUMENTS',
    flag: true,
    doc: 'A JSON file of GraphQL documents that clients can name by `documentId`.',
    ...optional('the name of a file', anyText.parse),
  }),
  trustedDocumentsOnly: setting({
    env: 'TRUSTED_DOCUMENTS_ONLY',
    flag: true,
    default: 'off',
    doc: 'Whether `/graphql` refuses everything but trusted documents.',
    ...oneOf('on', 'off'),
  }),
  limitBody: setting({
    env: 'LIMIT_BODY',
    flag: true,
    default: '1048576',
    doc: 'The largest request body, in bytes.',
    ...whole(1, 1_073_741_824),
  }),
  limitBodyTime: setting({
    env: 'LIMIT_BODY_TIME',
    flag: true,
    default: '10000',
    doc: 'How many milliseconds a request body may take to arrive before the answer is 408.',
    ...whole(1, 600_000),
  }),
  limitInFlight: setting({
    env: 'LIMIT_IN_FLIGHT',
    flag: true,
    default: '1000',
    doc: 'How many requests a process works on at once; more are answered 503 at once.',
    ...whole(1, 1_000_000),
  }),
  limitLag: setting({
    env: 'LIMIT_LAG',
    flag: true,
    default: '1000',
    doc: 'How many milliseconds the event loop of a process may run late, twice in a row, before requests are answered 503 at once.',
    ...whole(1, 600_000),
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
  if (config.trustedDocumentsOnly === 'on' && config.trustedDocuments === null)
    return { fault: 'TRUSTED_DOCUMENTS_ONLY needs TRUSTED_DOCUMENTS' };
  const fault = authenticationFault(config);
  return fault === undefined ? { config } : { fault };
}

/** What a GraphQL document may hold. */
export function documentLimits(config: Config): DocumentLimits {
  return {
    tokens: config.limitTokens,
    depth: config.limitDepth,
    introspectionDepth: config.limitIntrospectionDepth,
    aliases: config.limitAliases,
    rootFields: config.limitRootFields,
    directives: config.limitDirectives,
  };
}

/** Whether callers can be known at all. */
export function hasAuthentication({
  authJwksUrl,
  authSecret,
  authKeys,
}: Pick<Config, 'authJwksUrl' | 'authSecret' | 'authKeys'>): boolean {
  return authJwksUrl !== null || authSecret !== null || authKeys === 'on';
}

/** What is set but would not be heeded is a mistake that leaves a door open. */
function authenticationFault(config: Config): string | undefined {
  const { authJwksUrl, authSecret, authIssuer, authAudience } = config;
  if (authJwksUrl !== null && authSecret !== null)
    return 'AUTH_JWKS_URL and AUTH_SECRET exclude each other: tokens have one issuer';
  if (authJwksUrl !== null && (authIssuer === null || authAudience === null))
    return 'AUTH_JWKS_URL needs AUTH_ISSUER and AUTH_AUDIENCE: the issuer makes tokens for others too';
  if (authJwksUrl === null && authSecret === null && (authIssuer !== null || authAudience !== null))
    return 'AUTH_ISSUER and AUTH_AUDIENCE need AUTH_JWKS_URL or AUTH_SECRET: without them there are no tokens';
  return undefined;
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
