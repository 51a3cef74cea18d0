/** What a rule of the schema is. */

import type { Model, Place } from '../model.ts';

export type Rule = (
  model: Model,
  report: (place: Place, message: string) => void,
  /** Whether a function of the deployment fills in new records of this type. */
  fills: (type: string) => boolean,
) => void;
