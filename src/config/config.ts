/** What the environment and the flags say of the settings. */

import { availableParallelism } from 'node:os';
import type { AnswerLimits } from '../engine/budget.ts';
import type { DocumentLimits } from '../graphql/limits.ts';
import { didYouMean } from '../schema/suggest.ts';
import { readSettings } from './file.ts';
import type { Setting } from './setting-kinds.ts';
import { AUTO, settings } from './settings.ts';

type Name = keyof typeof settings;
type Values = { readonly [K in Name]: (typeof settings)[K] extends Setting<infer T> ? T : never };

export type Config = Omit<Values, 'workers'> & {
  readonly workers: number;
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
  const file = flags.get('settingsFile') ?? env[settings.settingsFile.env] ?? 'none';
  const written = file === 'none' ? {} : readSettings(file);
  if (typeof written === 'string') return { fault: written };
  return configOf((name) => {
    const { [name]: row } = settings;
    const flag = flags.get(name);
    if (flag !== undefined) return { text: flag, called: flagOf(row) };
    const text = env[row.env];
    return text === undefined
      ? { text: written[row.env], called: `${row.env} in ${file}` }
      : { text, called: row.env };
  });
}

/** Which settings have other values now, though a server that is running cannot take them up. */
export function changedFixed(before: Config, after: Config): string[] {
  return (Object.keys(settings) as Name[])
    .filter((name) => {
      const row: Setting<unknown> = settings[name];
      return row.fixed && before[name] !== after[name];
    })
    .map((name) => settings[name].env);
}

/** What the command decides for itself: another program listens where it likes. */
const OF_COMMAND = [
  'settingsFile',
  'port',
  'host',
  'workers',
  'drainDelay',
  'backupTo',
  'backupEvery',
  'backupKeep',
] as const satisfies readonly Name[];

/** A value as a program gives it: as it is where JavaScript has it, else as in the environment; null is `none`. */
type Option<T> = T extends string | number | null ? T : string;

export type Options = {
  readonly [K in Exclude<Name, (typeof OF_COMMAND)[number]>]?: Option<Values[K]> | undefined;
};

/** The same from the options of a program that Duet is a part of. */
export function readOptions(options: Options): ConfigReading {
  const given: Readonly<Record<string, string | number | null | undefined>> = options;
  const known = Object.keys(settings).filter((name) => !OF_COMMAND.some((own) => own === name));
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  if (unknown !== undefined)
    return {
      fault: `unknown option "${unknown}".${didYouMean(unknown, known) || ` The options are: ${known.join(', ')}.`}`,
    };
  return configOf((name) => {
    const value = given[name];
    return { text: value === null ? 'none' : value?.toString(), called: name };
  });
}

/** `textOf`: what was given for a setting, and by which name. */
function configOf(textOf: (name: Name) => { text: string | undefined; called: string }): ConfigReading {
  const values: Partial<Record<Name, unknown>> = {};
  const given = new Set<Name>();
  for (const name of Object.keys(settings) as Name[]) {
    const row: Setting<unknown> = settings[name];
    const { text, called } = textOf(name);
    if (text !== undefined) given.add(name);
    const value = row.parse(text ?? row.default);
    if (value === undefined) {
      // The value of an environment-only setting may be a secret, so it is not repeated.
      const shown = row.flag ? `, not "${text}"` : '';
      return { fault: `${called} must be ${row.allowed}${shown}` };
    }
    values[name] = value;
  }
  const { workers, ...others } = values as Values;
  const isInMemory = others.database.kind === 'sqlite' && others.database.path === ':memory:';
  const config: Config = { ...others, workers: workers === AUTO ? coresFor(isInMemory) : workers, given };
  if (config.workers > 1 && isInMemory)
    return { fault: 'WORKERS must be 1 with sqlite::memory:, which one process alone can see' };
  if (config.databaseRead && config.database.kind === 'sqlite')
    return { fault: 'DATABASE_READ_URL needs a DATABASE_URL of PostgreSQL: a SQLite file has no replicas' };
  if (config.databaseReadStale !== null && !config.databaseRead)
    return { fault: 'DATABASE_READ_STALE needs DATABASE_READ_URL: there is no replica to read from' };
  if (config.trustedDocumentsOnly === 'on' && config.trustedDocuments === null)
    return { fault: 'TRUSTED_DOCUMENTS_ONLY needs TRUSTED_DOCUMENTS' };
  const fault = authenticationFault(config);
  return fault === undefined ? { config } : { fault };
}

/** As many as this process may use, by its affinity and its share of a container; connections are spread on Linux alone. */
function coresFor(isInMemory: boolean): number {
  return isInMemory || process.platform !== 'linux' ? 1 : availableParallelism();
}

/** What a GraphQL document may hold. */
export function documentLimits(config: Config): DocumentLimits {
  return {
    tokens: config.limitTokens,
    depth: config.limitDepth,
    introspectionDepth: config.limitIntrospectionDepth,
    aliases: config.limitAliases,
    rootFields: config.limitRootFields,
    fields: config.limitFields,
    directives: config.limitDirectives,
  };
}

/** What one answer may hold. */
export function answerLimits(config: Pick<Config, 'limitObjects' | 'limitBytes'>): AnswerLimits {
  return { objects: config.limitObjects, bytes: config.limitBytes };
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
