/** What the typed client does when it runs; printed below its types, so it imports nothing. */

export interface DuetOptions {
  /** The bearer token or API key, asked for with every request. */
  readonly token?: string | (() => string | undefined | Promise<string | undefined>);
  /** In place of the global `fetch`. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
}

/** What every call takes. */
export interface Call {
  readonly signal?: AbortSignal;
}

/** The codes of the server. */
export type DuetCode = string;

export interface Fault {
  readonly pointer?: string;
  readonly parameter?: string;
  /** Which of many records that are written alike. */
  readonly key?: string;
  readonly code: string;
  readonly detail: string;
}

/** What the server refused, with its code; `errors` tells which fields are wrong. */
export class DuetError extends Error {
  readonly code: DuetCode;
  readonly status: number;
  readonly errors: readonly Fault[];
  /** Which one of a transaction it was, from 0. */
  readonly operation: number | undefined;
  readonly requestId: string | null;

  constructor(status: number, body: Partial<Problem>, requestId: string | null) {
    super(body.detail ?? `HTTP ${status}`);
    this.name = 'DuetError';
    this.code = body.code ?? 'INTERNAL';
    this.status = status;
    this.errors = body.errors ?? [];
    this.operation = body.operation;
    this.requestId = requestId;
  }
}

/** Somebody else was faster; `record` is as it is now, or null when it is gone. */
export class VersionConflict extends DuetError {
  readonly record: unknown;

  constructor(of: DuetError, record: unknown) {
    super(of.status, { ...of, detail: of.message }, of.requestId);
    this.name = 'VersionConflict';
    this.record = record;
  }
}

interface Problem {
  readonly status: number;
  readonly code: DuetCode;
  readonly detail: string;
  readonly errors: readonly Fault[];
  readonly operation: number | undefined;
}

/** What is known of a resource: its path, its key, and the name of the resource that each relation leads to. */
interface Table {
  readonly path: string;
  readonly key: string;
  readonly fields: readonly string[];
  readonly related: Readonly<Record<string, string>>;
}

type Tables = Readonly<Record<string, Table>>;
type Values = Readonly<Record<string, unknown>>;
type Query = Record<string, string>;

interface Step {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly as?: string;
  readonly ifMatch?: string;
}

/** After a broken connection, or when the server is busy. */
const RETRIES = 3;
const FIRST_PAUSE_MS = 200;
/** When something live is asked for again that cannot be had now. */
const BUSY_MS = 5000;
/** So many live queries one stream takes. */
const TOGETHER = 100;
/** A page of a list that is followed to its end. */
const PAGE = 100;

class Connection {
  readonly #url: string;
  readonly #options: DuetOptions;
  /** How far the writes of this client have come; reads that show less would be stale. */
  #position = '';
  /** What is live, by its path, and the stream that tells of it. */
  readonly #queries = new Map<string, LiveQuery>();
  #stream = new AbortController();
  #opening: ReturnType<typeof setTimeout> | undefined;

  constructor(url: string, options: DuetOptions) {
    this.#url = url.replace(/\/+$/, '');
    this.#options = options;
  }

  /** A write is named by a key: however often it arrives, it is done once. */
  async send(method: string, path: string, given: Call & { body?: unknown; ifMatch?: string }) {
    const { body, ifMatch, signal } = given;
    const headers: Record<string, string> = {};
    if (method !== 'GET') headers['Idempotency-Key'] = crypto.randomUUID();
    if (ifMatch !== undefined) headers['If-Match'] = ifMatch;
    if (body !== undefined) headers['Content-Type'] = 'application/json';
    const text = body === undefined ? null : JSON.stringify(body);
    for (let attempt = 0; ; attempt++) {
      signal?.throwIfAborted();
      const isLast = attempt === RETRIES;
      let after = FIRST_PAUSE_MS * 2 ** attempt * (0.5 + Math.random());
      try {
        const response = await this.#fetch(path, { method, headers, body: text, signal: signal ?? null });
        const position = response.headers.get('Duet-Position') ?? '';
        if (position > this.#position) this.#position = position;
        // The whole answer: a connection can break within it.
        const answer = await response.text();
        if (response.ok) return { body: answer === '' ? null : (JSON.parse(answer) as unknown), response };
        const error = refusal(response, answer);
        if (isLast || !isBusy(error)) throw error;
        const asked = Number(response.headers.get('Retry-After') ?? Number.NaN);
        // Not all at the same moment: many were turned away together.
        if (asked >= 0) after = asked * 1000 + (after % FIRST_PAUSE_MS);
      } catch (error) {
        if (isLast || error instanceof DuetError || signal?.aborted) throw error;
      }
      await pause(after, signal);
    }
  }

  /** With whoever is logged in now, and what this client has written. */
  async #fetch(path: string, init: RequestInit & { headers: Record<string, string> }): Promise<Response> {
    const { token, fetch: own } = this.#options;
    const bearer = typeof token === 'function' ? await token() : token;
    if (bearer !== undefined) init.headers['Authorization'] = `Bearer ${bearer}`;
    if (init.method === 'GET' && this.#position !== '') init.headers['Duet-Position'] = this.#position;
    return (own ?? fetch)(this.#url + path, init);
  }

  /** Calls back with what is there, and again whenever it is something else. A hundred share one stream. */
  live(path: string, show: (answer: unknown) => void, failed: (error: unknown) => void): () => void {
    const watcher = { show, failed };
    let query = this.#queries.get(path);
    if (!query) {
      query = { watchers: new Set(), last: '' };
      this.#queries.set(path, query);
      this.#open();
    }
    const { watchers, last } = query;
    watchers.add(watcher);
    // Never before its caller has what it gets back.
    if (last !== '') queueMicrotask(() => watchers.has(watcher) && show(JSON.parse(last)));
    return () => {
      watchers.delete(watcher);
      if (watchers.size > 0 || this.#queries.get(path)?.watchers !== watchers) return;
      this.#queries.delete(path);
      this.#open();
    };
  }

  /** Anew, for what is wanted now; once for all that a page begins and ends together. */
  #open(ms = 0): void {
    if (ms > 0 && this.#opening !== undefined) return;
    clearTimeout(this.#opening);
    this.#opening = setTimeout(() => {
      this.#opening = undefined;
      this.#stream.abort();
      this.#stream = new AbortController();
      const paths = [...this.#queries.keys()];
      for (let from = 0; from < paths.length; from += TOGETHER)
        void this.#follow(paths.slice(from, from + TOGETHER), this.#stream.signal);
    }, ms);
  }

  async #follow(paths: readonly string[], signal: AbortSignal): Promise<void> {
    const tell = (error: DuetError, among: readonly string[]) => {
      // What is refused would be refused again: it is over for all who ask for it.
      const isOver = error.status < 500 && !isBusy(error);
      for (const path of among) {
        const { watchers = [] } = this.#queries.get(path) ?? {};
        if (isOver) this.#queries.delete(path);
        for (const { failed } of isOver ? watchers : []) failed(error);
      }
      return isOver;
    };
    for (let attempt = 0; !signal.aborted; attempt++) {
      try {
        const headers = { Accept: 'text/event-stream', 'Content-Type': 'application/json' };
        const body = JSON.stringify({ queries: paths });
        const response = await this.#fetch('/live', { method: 'POST', headers, body, signal });
        if (!response.ok) throw refusal(response, await response.text());
        for await (const [event, data] of eventsOf(response)) {
          attempt = 0;
          const [place = '', kind] = event.split('.');
          const path = paths[Number(place)] ?? '';
          const query = this.#queries.get(path);
          if (!query) continue;
          const problem = problemIn(data);
          const error = new DuetError(problem.status ?? response.status, problem, null);
          if (kind === 'problem') for (const { failed } of query.watchers) failed(error);
          // The others need not wait for it.
          if (kind === 'refused' && !tell(error, [path])) this.#open(BUSY_MS);
          if (kind !== undefined || data === query.last) continue;
          query.last = data;
          for (const { show } of query.watchers) show(JSON.parse(data));
        }
      } catch (error) {
        if (signal.aborted || (error instanceof DuetError && tell(error, paths))) return;
      }
      await pause(FIRST_PAUSE_MS * 2 ** Math.min(attempt, 6) * (0.5 + Math.random()), signal).catch(() => {});
    }
  }
}

/** One answer that is kept up to date, and those who are shown it. */
interface LiveQuery {
  readonly watchers: Set<{ show: (answer: unknown) => void; failed: (error: unknown) => void }>;
  /** As it came last. */
  last: string;
}

/** The events of a stream: their names, and what they say, which is one line. */
async function* eventsOf({ body }: Response): AsyncGenerator<[string, string]> {
  const reader = body?.getReader();
  const decoder = new TextDecoder();
  for (let text = ''; ; ) {
    const read = await reader?.read();
    if (!read?.value) return;
    const events = (text + decoder.decode(read.value, { stream: true })).split('\n\n');
    text = events.pop() ?? '';
    for (const event of events) {
      const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(event)?.[1];
      const data = field('data');
      if (data !== undefined) yield [field('event') ?? '', data];
    }
  }
}

function refusal({ status, headers }: Response, text: string): DuetError {
  return new DuetError(status, problemIn(text), headers.get('X-Request-Id'));
}

function isBusy({ status, code }: DuetError): boolean {
  return status === 429 || status === 503 || code === 'IDEMPOTENCY_IN_PROGRESS';
}

function problemIn(text: string): Partial<Problem> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', end);
      resolve();
    }, ms);
    signal?.addEventListener('abort', end, { once: true });
  });
}

function isObject(value: unknown): value is Values {
  return typeof value === 'object' && value !== null;
}

/** `{ author: { name: 'DESC' } }` is `-author.name`. */
function sortOf(orderBy: unknown): string {
  const one = (order: unknown, before: string): string[] =>
    Object.entries(isObject(order) ? order : {}).flatMap(([name, value]) =>
      isObject(value) ? one(value, `${before}${name}.`) : `${value === 'DESC' ? '-' : ''}${before}${name}`,
    );
  return (Array.isArray(orderBy) ? orderBy : [orderBy]).flatMap((order) => one(order, '')).join();
}

/** A condition whose value nobody has given would be left out, and all records meant; so would what JSON has no fields of. */
function filterOf(where: unknown): string {
  return JSON.stringify(where, function (this: Values, name, made) {
    const given = this[name];
    const value = isBoxed(made) ? made.valueOf() : made;
    if (given === undefined)
      throw new TypeError(`where: "${name}" is undefined; give it a value, or leave the condition out`);
    if (isLost(given, value))
      throw new TypeError(
        `${name ? `where: "${name}"` : 'where'} would be left out; await it, or give its values as objects and lists`,
      );
    return value;
  });
}

function isBoxed(value: unknown): value is number | boolean | string {
  return value instanceof Number || value instanceof Boolean || value instanceof String;
}

/** Whether JSON says nothing of it: a promise, a `Map`, a function, what is no number or no time. */
function isLost(given: unknown, value: unknown): boolean {
  if (value === undefined || typeof value === 'function' || typeof value === 'symbol') return true;
  if (typeof value === 'number') return !Number.isFinite(value);
  if (!isObject(value)) return value === null && given !== null;
  if (Array.isArray(value) || Object.keys(value).length > 0) return false;
  // `{}` alone means all: what else becomes that has lost what it said.
  const before = Object.getPrototypeOf(given);
  const isPlain = before === null || Object.getPrototypeOf(before) === null;
  return !isPlain || Reflect.ownKeys(given as object).length > 0;
}

/** What is asked of a list, `name` saying how each option is called there. */
function page(asked: Values, name: (option: string) => string, query: Query): void {
  if (asked['where'] !== undefined) query[name('where')] = filterOf(asked['where']);
  if (asked['orderBy'] !== undefined) query[name('sort')] = sortOf(asked['orderBy']);
  if (asked['first'] !== undefined) query[name('limit')] = String(asked['first']);
  if (asked['offset'] !== undefined) query[name('offset')] = String(asked['offset']);
}

/** Every record is asked for with its version: `select` alone can leave it out. */
function fieldsOf(tables: Tables, resource: string, asked: Values, before: string, query: Query): string[] {
  const table = tables[resource];
  const { select, include } = asked;
  const fields = isObject(select) ? [] : (table?.fields ?? []).map((field) => before + field);
  for (const [name, wanted] of [select, include].flatMap((each) =>
    Object.entries(isObject(each) ? each : {}),
  )) {
    const target = table?.related[name];
    if (!wanted) continue;
    if (target === undefined) fields.push(before + name);
    else {
      const below = isObject(wanted) ? wanted : {};
      page(below, (option) => `${before}${name}[${option}]`, query);
      fields.push(...fieldsOf(tables, target, below, `${before}${name}.`, query));
    }
  }
  return fields;
}

function shaped(tables: Tables, resource: string, asked: Values, query: Query = {}): string {
  const fields = fieldsOf(tables, resource, asked, '', query).join();
  return `?${new URLSearchParams({ ...query, fields })}`;
}

/** The path of a record, and the version that it must have, where a record says which. */
function placeOf({ path, key }: Table, of: unknown): { path: string; ifMatch?: string; id: unknown } {
  const id = isObject(of) ? of[key] : of;
  if (typeof id !== 'string' && typeof id !== 'number')
    throw new TypeError(`${path}: ${key} must be known; within a transaction, a new record has none yet`);
  // As a path these are the list itself, or what it is in.
  if (/^\.{0,2}$/.test(String(id)))
    throw new TypeError(`${path}: the ${key} "${id}" cannot be in a path; use where`);
  const place = { path: `/${path}/${encodeURIComponent(id)}`, id };
  if (!isObject(of)) return place;
  if (typeof of['_version'] !== 'number')
    throw new TypeError(
      `${path}: the record has no _version; read it with its _version, or give its ${key} alone`,
    );
  return { ...place, ifMatch: `"${of['_version']}"` };
}

/** A conflict has what is there now, beside the error that says it is not what was read. */
async function conflicting(error: unknown, now: (() => Promise<unknown>) | undefined): Promise<never> {
  if (!(error instanceof DuetError) || error.code !== 'VERSION_CONFLICT' || !now) throw error;
  throw new VersionConflict(error, await now());
}

/** Where nobody wants to hear of it, it is an error that nobody has caught. */
function raise(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}

function recordsOf(connection: Connection, tables: Tables, resource: string, table: Table) {
  const get = async (key: unknown, asked: Values & Call = {}) => {
    const { path } = placeOf(table, key);
    try {
      return (await connection.send('GET', path + shaped(tables, resource, asked), asked)).body;
    } catch (error) {
      if (error instanceof DuetError && error.code === 'NOT_FOUND') return null;
      throw error;
    }
  };
  const pathOf = (asked: Values, more: Values = {}) => {
    const query: Query = {};
    page({ ...asked, ...more }, (option) => option, query);
    return `/${table.path}${shaped(tables, resource, asked, query)}`;
  };
  const listed = (asked: Values & Call, more: Values) => connection.send('GET', pathOf(asked, more), asked);
  return {
    get: (key: unknown, asked?: Values & Call) => get(key, asked),
    list: async (asked: Values & Call = {}) => (await listed(asked, {})).body,
    async *all(asked: Values & Call = {}) {
      const { first } = asked;
      const wanted = typeof first === 'number' ? first : Number.POSITIVE_INFINITY;
      let { body, response } = await listed(asked, { first: Math.min(wanted, PAGE) });
      for (let seen = 0; ; ) {
        for (const record of body as unknown[]) if (seen++ < wanted) yield record;
        const next = /<([^>]*)>;\s*rel="next"/.exec(response.headers.get('Link') ?? '')?.[1];
        if (next === undefined || seen >= wanted) return;
        ({ body, response } = await connection.send('GET', next, asked));
      }
    },
    live: (asked: Values, show: (rows: unknown) => void, failed: (error: unknown) => void = raise) =>
      connection.live(pathOf(asked), show, failed),
    create: async (body: unknown, asked: Values & Call = {}) =>
      (await connection.send('POST', `/${table.path}${shaped(tables, resource, asked)}`, { ...asked, body }))
        .body,
    update: (of: unknown, body: unknown, asked: Values & Call = {}) => {
      const { path, id, ...match } = placeOf(table, of);
      const put = connection.send('PUT', path + shaped(tables, resource, asked), {
        ...asked,
        ...match,
        body,
      });
      return put.then(
        (answer) => answer.body,
        (error) => conflicting(error, () => get(id)),
      );
    },
    delete: async (of: unknown, asked: Call = {}) => {
      const { path, id, ...match } = placeOf(table, of);
      const sent = connection.send('DELETE', path, { ...asked, ...match });
      await sent.catch((error) => conflicting(error, () => get(id)));
    },
  };
}

const STEP: unique symbol = Symbol('step');

/** Stands for a record that a transaction will make: each of its fields is a reference to it. */
function promised(step: number): object {
  return new Proxy(
    { [STEP]: step },
    {
      get: (target, name) =>
        name === STEP
          ? target[STEP]
          : typeof name === 'symbol' || name === 'then'
            ? undefined
            : { $ref: `r${step}.${name}` },
    },
  );
}

async function transaction(
  connection: Connection,
  tables: Tables,
  records: Readonly<Record<string, ReturnType<typeof recordsOf>>>,
  build: (t: Values) => unknown,
  call: Call = {},
) {
  const steps: Step[] = [];
  /** How to read what each step is about, where it is there already. */
  const now: ((() => Promise<unknown>) | undefined)[] = [];
  const add = (step: Step, current?: () => Promise<unknown>) => {
    now.push(current);
    // What is deleted cannot be referred to.
    const name = step.method === 'DELETE' ? {} : { as: `r${steps.length}` };
    return promised(steps.push({ ...step, ...name }) - 1);
  };
  const parts = Object.entries(tables).map(([resource, table]) => {
    const shape = shaped(tables, resource, {});
    const change = (of: unknown, step: { method: string; body?: unknown }, asked: string) => {
      const { path, id, ...match } = placeOf(table, of);
      return add({ ...step, path: path + asked, ...match }, async () => records[resource]?.get(id));
    };
    const part = {
      create: (body: unknown) => add({ method: 'POST', path: `/${table.path}${shape}`, body }),
      update: (of: unknown, body: unknown) => change(of, { method: 'PUT', body }, shape),
      delete: (of: unknown) => {
        change(of, { method: 'DELETE' }, '');
      },
    };
    return [resource, part] as const;
  });
  const wanted = build(Object.fromEntries(parts));
  const sent = connection.send('POST', '/transaction', { ...call, body: { operations: steps } });
  const { body } = await sent.catch((error) => conflicting(error, now[error?.operation]));
  const { results } = body as { results: { body?: unknown }[] };
  const made = (value: unknown): unknown => {
    if (!isObject(value)) return value;
    const step = (value as { [STEP]?: number })[STEP];
    if (step !== undefined) return results[step]?.body;
    if (Array.isArray(value)) return value.map(made);
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, made(each)]));
  };
  return made(wanted);
}

interface Action {
  readonly path: string;
  readonly reads: boolean;
}

function actionsOf(connection: Connection, actions: Readonly<Record<string, Action>>) {
  return Object.fromEntries(
    Object.entries(actions).map(([name, { path, reads }]) => {
      const run = async (args: Values = {}, call: Call = {}) => {
        if (!reads) return (await connection.send('POST', path, { ...call, body: args })).body;
        const given = Object.entries(args).filter(([, value]) => value !== undefined);
        const query: Query = {};
        for (const [each, value] of given)
          query[each] = isObject(value) ? JSON.stringify(value) : String(value);
        return (await connection.send('GET', `${path}?${new URLSearchParams(query)}`, call)).body;
      };
      return [name, run];
    }),
  );
}

/** Everything that a client can do, by the tables of the deployment. */
export function clientOf(
  url: string,
  options: DuetOptions,
  tables: Tables,
  actions: Readonly<Record<string, Action>>,
): unknown {
  const connection = new Connection(url, options);
  const records = Object.fromEntries(
    Object.entries(tables).map(([resource, table]) => [
      resource,
      recordsOf(connection, tables, resource, table),
    ]),
  );
  return {
    ...records,
    ...(Object.keys(actions).length > 0 && { actions: actionsOf(connection, actions) }),
    transaction: (build: (t: Values) => unknown, call?: Call) =>
      transaction(connection, tables, records, build, call),
  };
}
