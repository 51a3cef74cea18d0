/** The places where a service is operated. */

import type { IconName } from '../parts.tsx';

export const places: readonly { readonly name: string; readonly label: string; readonly icon: IconName }[] = [
  { name: 'keys', label: 'API keys', icon: 'key' },
  { name: 'jobs', label: 'Jobs', icon: 'clock' },
  { name: 'requests', label: 'Requests', icon: 'lines' },
  { name: 'statements', label: 'Slow statements', icon: 'code' },
  { name: 'migrations', label: 'Migrations', icon: 'steps' },
  { name: 'access', label: 'View as', icon: 'eye' },
];
