/** Every rule that a whole schema must meet; each reports faults and changes nothing. */

import { claimsFit } from './claims-fit.ts';
import { constraintsFit } from './constraints-fit.ts';
import { defaultsFit } from './defaults-fit.ts';
import { indexesFit } from './indexes-fit.ts';
import { journalsFit } from './journals-fit.ts';
import { namesAreFree } from './names-are-free.ts';
import { queryHasFields } from './query-has-fields.ts';
import { recordsCanBeCreated } from './records-can-be-created.ts';
import { rootNamesAreFree } from './root-names-are-free.ts';
import type { Rule } from './rule.ts';
import { storedNamesAreFree } from './stored-names-are-free.ts';
import { upsertsFit } from './upserts-fit.ts';

export const rules: readonly Rule[] = Object.freeze([
  namesAreFree,
  rootNamesAreFree,
  storedNamesAreFree,
  recordsCanBeCreated,
  defaultsFit,
  claimsFit,
  constraintsFit,
  indexesFit,
  journalsFit,
  upsertsFit,
  queryHasFields,
]);
