/** What a change of the schema is, for the tables of changes, and the data they start from. */

export interface Change {
  readonly from: string;
  readonly data?: Record<string, unknown[]>;
  readonly to: string;
  readonly surplus?: readonly string[];
}

export interface Applied extends Change {
  readonly applied: readonly string[];
  /** The records afterwards; by default those from before. */
  readonly after?: Record<string, unknown[]>;
  /** The records when the old schema comes back; by default those from before. */
  readonly back?: Record<string, unknown[]>;
}

export interface Refused extends Change {
  readonly refused: readonly string[];
}

export const A = (fields: string) => `type A @resource { id: ID! ${fields} }`;
export const two = { as: [{ n: 1 }, { n: 2 }] };
export const rows = { as: [{ s: 'x' }, { s: 'y' }] };
export const withNull = { as: [{ s: 'x' }, {}] };
export const User = 'type User @resource { id: ID! name: String }';
