/** Which page of the operators a place is. */

import type { ComponentType } from 'preact';
import { place } from '../../address.ts';
import { to } from '../../links.ts';
import { me } from '../../operate.ts';
import { Empty, SignIn } from '../parts.tsx';
import { Access } from './access.tsx';
import { Jobs } from './jobs.tsx';
import { Keys } from './keys.tsx';
import { Metrics } from './metrics.tsx';
import { Migrations } from './migrations.tsx';
import { Requests } from './requests.tsx';
import { Statements } from './statements.tsx';
import { Webhooks } from './webhooks.tsx';

const pages: Readonly<Record<string, ComponentType<{ query: URLSearchParams }>>> = {
  metrics: Metrics,
  keys: Keys,
  jobs: Jobs,
  webhooks: Webhooks,
  requests: Requests,
  statements: Statements,
  migrations: Migrations,
  access: Access,
};

export function Operate() {
  const { path, query } = place.value;
  const Page = pages[path[1] ?? ''];
  if (!Page)
    return (
      <Empty icon="search" title="There is nothing at this address">
        <a class="button" href={to([])}>
          Home
        </a>
      </Empty>
    );
  if (me.value?.operates === false && Page !== Metrics)
    return (
      <Empty icon="lock" title="This is for operators">
        <span>
          {me.value.authentication
            ? 'It needs the role "admin".'
            : 'Without authentication it works only on the machine itself, at http://localhost.'}
        </span>
        {me.value.authentication && <SignIn />}
      </Empty>
    );
  return <Page key={path[1]} query={query} />;
}
