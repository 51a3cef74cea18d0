/** On whose behalf an operation runs; the engine cannot be called without one. */

export interface Caller {
  readonly claims: Readonly<Record<string, unknown>>;
}

export const anonymous: Caller = { claims: {} };
