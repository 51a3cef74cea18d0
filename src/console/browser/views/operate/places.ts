/** The places where a service is operated. */

import { me } from '../../operate.ts';
import type { IconName } from '../parts.tsx';

interface OperatePlace {
  readonly name: string;
  readonly label: string;
  readonly icon: IconName;
}

const places: readonly OperatePlace[] = [
  { name: 'metrics', label: 'Metrics', icon: 'pulse' },
  { name: 'keys', label: 'API keys', icon: 'key' },
  { name: 'jobs', label: 'Jobs', icon: 'clock' },
  { name: 'webhooks', label: 'Webhooks', icon: 'send' },
  { name: 'requests', label: 'Requests', icon: 'lines' },
  { name: 'statements', label: 'Slow statements', icon: 'drum' },
  { name: 'migrations', label: 'Migrations', icon: 'steps' },
  { name: 'access', label: 'View as', icon: 'eye' },
];

/** Those that the caller may go to; metrics have a role of their own. */
export function offered(): readonly OperatePlace[] {
  const { operates = false, webhooks = false, authentication = true, roles = [] } = me.value ?? {};
  return places.filter(({ name }) =>
    name === 'metrics'
      ? !authentication || roles.includes('metrics')
      : operates && (name !== 'webhooks' || webhooks),
  );
}

export function labelOf(place: string | undefined): string[] {
  return places.filter(({ name }) => name === place).map(({ label }) => label);
}
