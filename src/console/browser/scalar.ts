/** A text as a person typed it, as a value of its column. */

import type { Column } from './schema/types.ts';

/** What cannot be read stays text: the service says what is wrong with it. */
export function scalar(column: Column | undefined, text: string): unknown {
  switch (column?.kind) {
    case 'id':
    case 'int':
    case 'float': {
      const number = Number(text);
      return text.trim() === '' || Number.isNaN(number) ? text : number;
    }
    case 'boolean':
      return text === 'true' ? true : text === 'false' ? false : text;
    default:
      return text;
  }
}
