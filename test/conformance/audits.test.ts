/** The audits of the GraphQL over HTTP working group, all of them, without an error or a warning. */

import { afterAll, expect, test } from 'bun:test';
import { serverAudits } from 'graphql-http';
import { openApp } from '../app.ts';

const app = await openApp('sqlite');
afterAll(() => app.close());

const audits = serverAudits({
  url: 'http://duet.test/graphql',
  fetchFn: (url: string, init?: RequestInit) => app.fetch(url.slice('http://duet.test'.length), init),
});

test.each(audits.map((audit) => [audit.name, audit] as const))('%s', async (name, audit) => {
  const result = await audit.fn();
  // What a server MAY do and does not do, such as answering GET, is a notice: neither an error nor a warning.
  const fine = name.startsWith('MAY ') ? ['ok', 'notice'] : ['ok'];
  expect(fine, result.status === 'ok' ? '' : result.reason).toContain(result.status);
});
