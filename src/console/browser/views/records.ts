/** What shows and edits records, in one file: the first screen does without it. */

export { Edit } from './edit.tsx';
export { Create } from './form.tsx';
export { List } from './list.tsx';
export { Record } from './record.tsx';
