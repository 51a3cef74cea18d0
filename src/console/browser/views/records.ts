/** What shows and edits records, in one file: the first screen does without it. */

export { Create, Edit } from './form.tsx';
export { List } from './list.tsx';
export { Record } from './record.tsx';
