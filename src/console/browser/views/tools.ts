/** The places of the console that are not data. */

import type { IconName } from './parts.tsx';

export const tools: readonly { readonly area: string; readonly label: string; readonly icon: IconName }[] = [
  { area: 'schema', label: 'Diagram', icon: 'graph' },
  { area: 'graphiql', label: 'GraphiQL', icon: 'code' },
  { area: 'reference', label: 'API reference', icon: 'book' },
];
