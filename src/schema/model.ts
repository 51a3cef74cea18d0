/** What an SDL file means, as types: the Model that every other part of Duet is derived from. */

import type { Scalar } from './scalars.ts';

/** A place in the SDL file; both numbers count from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** Something wrong with the SDL file; the message ends with the cure. */
export interface SchemaFault extends Place {
  readonly message: string;
}

export type OperationKind = 'LIST' | 'GET' | 'CREATE' | 'UPDATE' | 'DELETE';
export type DeleteAction = 'RESTRICT' | 'CASCADE' | 'SET_NULL';
export type Action = 'READ' | 'CREATE' | 'UPDATE' | 'DELETE' | 'HISTORY';

export interface Model {
  readonly resources: readonly Resource[];
  readonly byType: ReadonlyMap<string, Resource>;
  readonly enums: readonly Enum[];
  /** Root fields that the file declares itself, such as `addTodo`. */
  readonly rootFields: readonly RootField[];
  /** Root fields that functions of the deployment carry out, such as `placeOrder`. */
  readonly actions: readonly ActionField[];
  /** Changes when, and only when, the meaning of the file may have changed; part of every ETag. */
  readonly fingerprint: string;
  /** The same, and which functions `logic.ts` has for writes: what older nodes do not know of, they cannot keep true. */
  generation: string;
  /** The file itself, which the database keeps to compare the next one with. */
  readonly source: string;
}

/** What every named thing of the file carries through to introspection, OpenAPI and the console. */
export interface Described {
  readonly name: string;
  readonly place: Place;
  readonly description: string | undefined;
  readonly deprecated: string | undefined;
}

export interface Enum extends Described {
  readonly values: readonly Described[];
}

export interface Resource extends Described {
  /** camelCase, as in `book(id:)`. */
  readonly singular: string;
  /** camelCase, as in `books`. */
  readonly plural: string;
  /** The first path segment of the REST routes. */
  readonly path: string;
  readonly table: string;
  readonly operations: ReadonlySet<OperationKind>;
  readonly rest: boolean;
  readonly graphql: boolean;
  readonly key: Column;
  /** The hidden row version; stored like a column, but no field of the file. */
  readonly version: Column;
  /** Everything the type declares, in file order; a reference is preceded by the column that stores it. */
  readonly fields: readonly Field[];
  readonly fieldByName: ReadonlyMap<string, Field>;
  readonly columns: readonly Column[];
  readonly references: readonly Reference[];
  readonly inverses: readonly Inverse[];
  readonly throughs: readonly Through[];
  /** The references of any resource that point here. */
  readonly pointedAtBy: readonly Reference[];
  readonly uniques: readonly ColumnSet[];
  readonly indexes: readonly ColumnSet[];
  /** The fields whose words records are found by, the most telling first; empty where they are not searched. */
  readonly searched: readonly Column[];
  readonly allow: readonly AllowRule[];
  readonly checks: readonly CheckRule[];
  /** Fields that functions make of others; nothing stores them. */
  readonly computed: readonly Computed[];
  /** Those that are columns, and made anew when one of the others is written. */
  readonly recomputed: readonly Computed[];
  /** The functions that take part in its writes, or run after them; `logic.ts` has them, and none are here before it is read. */
  hooks: readonly string[];
  /** `@journal`: every change of its records is kept. */
  readonly journal: Journal | undefined;
}

export interface Journal {
  /** For how many milliseconds; undefined for ever. */
  readonly keepMs: number | undefined;
}

/** A field that a function makes of others of its record. */
export interface Computed {
  /** What its values are like. */
  readonly column: Column;
  readonly from: readonly Column[];
  /** Set when `logic.ts` is read, which has it; it is given the values of these fields alone. */
  compute: ((values: Readonly<Record<string, unknown>>) => unknown) | undefined;
}

export type Field = Column | Reference | Inverse | Through;

export interface ColumnSet {
  readonly place: Place;
  readonly columns: readonly Column[];
}

/** A stored value: a scalar, an enum, a list of those, or the key of a referenced record. */
export interface Column extends Described {
  readonly kind: 'column';
  readonly stored: string;
  readonly type: Scalar | Enum;
  readonly list: boolean;
  /** `!`: NOT NULL, never null in an answer, required on create unless something else sets it. */
  readonly required: boolean;
  readonly origin: Origin;
  readonly constraint: Constraint | undefined;
  readonly transitions: Transitions | undefined;
  /**
   * `@caseless`: the hidden column that rows are compared by instead. It is given the same values, which it keeps without letter
   * case, so it has the same name.
   */
  readonly folded: Column | undefined;
  /** How many bytes a text may have, because an index has it. */
  readonly indexed?: number | undefined;
  readonly allow: readonly AllowRule[];
  /** The reference whose key this column stores. */
  readonly reference: Reference | undefined;
  /** What a function makes it of: who may not read that may not read this, unless a rule of its own says so. */
  readonly madeOf?: readonly Column[];
}

/** Who sets a column, and with what when the client leaves it out. */
export type Origin =
  | { readonly by: 'client'; readonly default: unknown }
  | { readonly by: 'nobody'; readonly default: unknown }
  | { readonly by: 'serial' | 'uuid' | 'createdAt' | 'updatedAt' | 'version' | 'function' }
  | { readonly by: 'claim'; readonly claim: string };

export type Bound = number | string;

export interface Constraint {
  readonly minLength: number | undefined;
  readonly maxLength: number | undefined;
  readonly pattern: RegExp | undefined;
  readonly format: string | undefined;
  /** Of an exact number as its values are: a text in canonical form. */
  readonly min: Bound | undefined;
  readonly max: Bound | undefined;
}

/** Where the value of an enum field can go, from each value; one without a line is an end. */
export type Transitions = ReadonlyMap<string, readonly string[]>;

export interface Reference extends Described {
  readonly kind: 'reference';
  readonly owner: Resource;
  readonly column: Column;
  readonly target: Resource;
  readonly required: boolean;
  readonly onDelete: DeleteAction;
  readonly allow: readonly AllowRule[];
}

export interface Inverse extends Described {
  readonly kind: 'inverse';
  readonly target: Resource;
  readonly reference: Reference;
  /** Only a list that can be forbidden can be null. */
  readonly required: boolean;
  readonly allow: readonly AllowRule[];
}

/** The records that a join type leads to: `tags` of a product, by way of its product tags. */
export interface Through extends Described {
  readonly kind: 'through';
  readonly target: Resource;
  /** The records of the join type that point here, as a list that the type does not show. */
  readonly links: Inverse;
  /** The reference of a link that leads on to the target. */
  readonly far: Reference;
  readonly required: boolean;
  readonly allow: readonly AllowRule[];
}

/** As it is written; `access/` makes sense of it. */
export interface AllowRule {
  readonly place: Place;
  readonly to: readonly Action[];
  /** Undefined for everybody. */
  readonly role: string | undefined;
  /** A filter that may hold claims; undefined for all records. */
  readonly where: unknown;
  /** What an updated record must match, where that is not `where` again. */
  readonly check: unknown;
}

/** What must be true of every record, as it is written; `query/checks` makes sense of it. */
export interface CheckRule {
  readonly place: Place;
  /** A filter over the record's own fields. */
  readonly where: unknown;
  readonly message: string;
}

export interface RootField extends Described {
  readonly root: 'Query' | 'Mutation';
  readonly operation: OperationKind;
  readonly resource: Resource;
  readonly arguments: readonly RootArgument[];
  readonly required: boolean;
}

export interface RootArgument extends Described {
  readonly column: Column;
  readonly required: boolean;
}

/** A root field with `@action`: `logic.ts` has its function. */
export interface ActionField extends Described {
  readonly root: 'Query' | 'Mutation';
  /** The path segment below `/actions/`. */
  readonly path: string;
  readonly arguments: readonly Slot[];
  readonly answer: Slot;
  readonly allow: readonly AllowRule[];
}

/** Where a value stands: an argument, a field of a plain type, or what an action answers with. */
export type Slot = Described & {
  readonly list: boolean;
  readonly required: boolean;
} & (
    | { readonly is: 'value'; readonly column: Column }
    | { readonly is: 'record'; readonly resource: Resource }
    | { readonly is: 'object'; readonly shape: Shape }
  );

/** A type of the file that nothing stores: an `input`, or a `type` without `@resource`. */
export interface Shape extends Described {
  readonly kind: 'input' | 'type';
  readonly fields: readonly Slot[];
}
