/** What functions of the deployment have to say while records are written, as the programs that write them ask it. */

import type { Resource } from '../../schema/model.ts';
import type { Row } from '../../storage/statements.ts';
import type { Program } from '../../storage/storage.ts';
import type { Input } from '../operation.ts';

/** What a function made of an input. */
export interface Hooked {
  /** What is to be written instead; undefined leaves it as it was. */
  readonly input: Input | undefined;
  /** Whether it has written something itself: what was read before may be otherwise by now. */
  readonly hasWritten: boolean;
}

/** The functions of one type, ready to run for one caller. */
export interface Hooks {
  /** Whether one of them may ask the database something; otherwise they are plain functions of what they are given. */
  readonly ask: boolean;
  readonly beforeCreate: ((input: Input) => Program<Hooked>) | undefined;
  readonly beforeUpdate: ((input: Input, record: Row) => Program<Hooked>) | undefined;
  readonly beforeDelete: ((record: Row) => Program<Hooked>) | undefined;
}

/** Undefined where a type has none. */
export type HooksOf = (resource: Resource) => Hooks | undefined;
