/** One union of everything worth telling about a running server; the log and the metrics are two listeners to it. */

export type Level = 'debug' | 'info' | 'warn' | 'error';

export type Observation =
  | {
      readonly event: 'started';
      readonly url: string;
      readonly pid: number;
      readonly database: string;
      readonly resources: number;
    }
  | { readonly event: 'supervising'; readonly url: string; readonly workers: number }
  | { readonly event: 'stopping'; readonly signal: string }
  | { readonly event: 'stopped' }
  /** What the files say now is served from now on. */
  | { readonly event: 'reloaded'; readonly resources: number }
  /** What the files say now cannot be served; what was served before still is. */
  | { readonly event: 'refused'; readonly faults: readonly string[] }
  | { readonly event: 'notice'; readonly message: string }
  | { readonly event: 'migrated'; readonly step: string }
  | { readonly event: 'backup'; readonly to: string }
  | {
      readonly event: 'request';
      readonly requestId: string;
      readonly method: string;
      readonly path: string;
      /** The path with the names of its parameters in place of their values; `none` where nothing answers. */
      readonly route: string;
      readonly status: number;
      /** When it came, in the time of `performance.now()`, and for how long it was worked on. */
      readonly started: number;
      readonly ms: number;
      /** The subject of a token, or the name of a key; undefined for the anonymous. */
      readonly caller: string | undefined;
      /** Of a request that is traced. */
      readonly traceId: string | undefined;
      /** Of the client; empty where nobody can tell, or nobody logs it. */
      readonly address: string;
    }
  | {
      readonly event: 'operation';
      readonly requestId: string;
      readonly name: string | undefined;
      readonly type: string;
      readonly outcome: 'ok' | 'error';
      readonly ms: number;
    }
  | { readonly event: 'statement'; readonly sql: string }
  | {
      readonly event: 'slow';
      /** Of the request that it was for, or of the first of several that share it. */
      readonly requestId: string | undefined;
      readonly ms: number;
      /** The same for all statements that differ in nothing but their values. */
      readonly fingerprint: string;
      readonly sql: string;
    }
  | Failure;

export interface Failure {
  readonly event: 'failure';
  readonly requestId?: string;
  readonly cause: unknown;
  /** How many of the same were left out of the log before. */
  unsaid?: number;
}

export type Observe = (observation: Observation) => void;
