/** Pages of the data, and what is opened beside them: it is made of the same parts, which are fetched at the same time. */

import { opened } from './later.tsx';

export const records = () => import('./records.ts');

export const beside = () => {
  void records().catch(() => {});
  return opened();
};
