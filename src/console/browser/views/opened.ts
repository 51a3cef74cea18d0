/** What people open beside the data, in one file: ten small ones would take a quarter more to fetch. */

// Much of it is made of the same parts: so these are one file, which is there most of the time.
import './records.ts';

export { Run } from './action.tsx';
export { Begin } from './begin.tsx';
export { ColumnChooser } from './column-chooser.tsx';
export { FileNotice } from './file-notice.tsx';
export { Filter } from './filter.tsx';
export { History } from './history.tsx';
export { Import } from './import.tsx';
export { ChangeMany, DeleteMany } from './many.tsx';
export { Operate } from './operate/operate.tsx';
export { Views } from './saved-views.tsx';
export { Summoned } from './summoned.tsx';
export { TokenDialog } from './token.tsx';
