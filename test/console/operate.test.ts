/** The pages of operators: keys, jobs, requests, statements, migrations, and the data with the eyes of others. */

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { headersOf, SECRET } from '../conformance/access-matrix.ts';
import { findings } from './axe.ts';
import { browsing, service, shows, visit } from './browser.ts';

const sdl = `
type Order @resource @journal(keep: "1d")
  @allow(to: [READ, CREATE], role: "authenticated", where: { by: { eq: { claim: "sub" } } })
  @allow(to: [READ], role: "clerk")
{
  id: ID!
  by: String!
  what: String!
}
type Mutation {
  stamp(orderId: ID!): Order @action @allow(role: "stamper")
  count: Int @action @allow
}
`;
const data = {
  orders: [
    { by: 'ann', what: 'A lamp' },
    { by: 'bob', what: 'A chair' },
  ],
};
const stamping = 'Mutation: { stamp: (_, { orderId }) => orderId, count: () => 2 },';
/** The mail server is away. */
const logic = `
export default {
  ${stamping}
  Order: {
    async afterCreate() {
      throw new Error('the mail server is away');
    },
  },
};
`;

async function tokenOf(sub: string, ...roles: string[]): Promise<string> {
  const { Authorization = '' } = await headersOf({ name: `operate ${sub}`, claims: { sub, roles } });
  return Authorization.replace('Bearer ', '');
}

// On both databases the answers are the same: what is operated is held on each below both doors.
browsing('without authentication, on postgres', () => {
  let duet: Awaited<ReturnType<typeof service>>;
  beforeAll(async () => {
    duet = await service('postgres', { sdl, data, logic, env: { LOG_SLOW: '0' } });
  });
  afterAll(() => duet.end());

  test('jobs wait with their errors, are tried again, and are dropped', async () => {
    await duet.json('POST', '/orders', { by: 'ann', what: 'A table' });
    await shows(
      async () => (await duet.json('GET', '/_duet/jobs')).jobs[0]?.error,
      'the mail server is away',
    );
    await using here = await visit(duet.url);
    const { page } = here;
    await here.go('#/operate/keys');
    await page.getByText('To use keys, set AUTH_KEYS=on').waitFor();
    expect(await page.getByRole('button', { name: 'New key' }).count()).toBe(0);
    await page.getByRole('link', { name: 'Jobs' }).click();
    // What has failed and is tried again is not just waiting; its error is read whole, below it.
    const row = page.getByRole('row', { name: /^Order.afterCreate 3 retrying/ });
    await page.getByRole('row', { name: /^the mail server is away/ }).waitFor();
    // The page shows what was so when it was asked: just then the job may have been running.
    await shows(async () => {
      await page.getByRole('button', { name: 'Refresh' }).click();
      return row.count();
    }, 1);
    expect(await row.getByRole('link', { name: '3' }).getAttribute('href')).toBe('#/data/Order/record/3');
    await page.getByText('1 waiting or retrying, 0 failed for good').waitFor();
    // One that is just being tried goes on, and is not counted.
    await shows(
      async () => {
        const tried = page.waitForResponse((response) => response.url().endsWith('/_duet/jobs/retry'));
        await row.getByRole('button', { name: 'Retry' }).click();
        return (await tried).json();
      },
      { count: 1, more: false },
    );
    await page.getByRole('link', { name: 'Failed' }).click();
    await page.getByText('No job has failed').waitFor();
    await shows(async () => (await duet.json('GET', '/_duet/jobs')).jobs[0].state, 'waiting');
    await page.goBack();
    await row.getByRole('button', { name: 'Drop' }).click();
    const dialog = page.getByRole('dialog', { name: 'Drop this job?' });
    // In a dialog that is opened from a cell, texts have as many lines as they need.
    const look = await dialog.evaluate((each: any) => {
      const { textAlign, whiteSpace } = each.ownerDocument.defaultView.getComputedStyle(each);
      return { textAlign, whiteSpace };
    });
    expect(look).toEqual({ textAlign: 'left', whiteSpace: 'normal' });
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await row.getByRole('button', { name: 'Drop' }).click();
    await dialog.getByRole('button', { name: 'Drop it' }).click();
    await page.getByText('No jobs are waiting').waitFor();
    expect(await duet.json('GET', '/_duet/jobs')).toMatchObject({ waiting: 0, jobs: [] });
    expect(here.complaints).toEqual([]);
  });

  test('a webhook is added, its secret seen once, tested, told of changes, and removed', async () => {
    let answers = 500;
    await using receiver = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: () => new Response(null, { status: answers }),
    });
    await using here = await visit(duet.url);
    const { page } = here;
    await here.go('');
    await page.getByRole('link', { name: 'Webhooks' }).click();
    await page.getByText('There are no webhooks yet').waitFor();
    await page.getByRole('button', { name: 'New webhook' }).click();
    await page.getByLabel('URL of the receiver').fill(`${receiver.url}told`);
    // What there is to be told of is chosen, or written.
    await page.getByRole('checkbox', { name: 'Order.created' }).check();
    await page.getByRole('checkbox', { name: 'Order.*' }).check();
    await shows(() => page.getByLabel('Events').inputValue(), 'Order.created, Order.*');
    await page.getByRole('checkbox', { name: 'Order.created' }).uncheck();
    await page.getByRole('button', { name: 'Add webhook' }).click();
    // At its field, in words that lead to the box.
    const line = page.locator('label', { hasText: 'URL of the receiver' });
    await line
      .getByRole('alert')
      .filter({ hasText: /^The URL must be https, unless you say that the receiver is inside this network/ })
      .waitFor();
    expect(await page.getByRole('alert').count()).toBe(1);
    await page.getByRole('checkbox', { name: 'inside this network' }).check();
    await page.getByRole('button', { name: 'Add webhook' }).click();
    const once = page.getByRole('dialog', { name: 'The secret of the webhook' });
    const secret = (await once.locator('code').textContent()) ?? '';
    expect(secret).toMatch(/^whsec_/);
    // Nobody has copied it yet; what stands behind it knows of the webhook.
    await page.keyboard.press('Escape');
    await page.getByRole('article', { name: `${receiver.url}told` }).waitFor();
    expect(await once.isVisible()).toBe(true);
    await page.getByRole('button', { name: 'Done' }).click();
    const shown = page.getByRole('article', { name: `${receiver.url}told` });
    await shown.getByText('active').waitFor();
    expect(await page.content()).not.toContain(secret);
    await shown.getByRole('button', { name: 'Test' }).click();
    await shown.getByText(/^The test failed: .*500/).waitFor();
    answers = 204;
    await shown.getByRole('button', { name: 'Test' }).click();
    await shown.getByText('The receiver answered the test with 204.').waitFor();
    await duet.json('POST', '/orders', { by: 'ann', what: 'A vase' });
    await shows(async () => (await duet.json('GET', '/_duet/webhooks'))[0].deliveries.length, 1);
    await page.getByRole('button', { name: 'Refresh' }).click();
    const [{ id }] = await duet.json('GET', '/orders?sort=-id&limit=1');
    const row = shown.getByRole('row', { name: new RegExp(`^Order.created ${id} .* delivered 204$`) });
    await row.waitFor();
    expect(await row.getByRole('link').getAttribute('href')).toBe(`#/data/Order/record/${id}`);
    await shown.getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('button', { name: 'Remove it' }).click();
    await page.getByText('There are no webhooks yet').waitFor();
    expect(here.complaints).toEqual([]);
  });

  test('each place of operators and each tool has an icon of its own', async () => {
    await using here = await visit(duet.url);
    await here.go('#/operate/migrations');
    await here.page.locator('nav').getByRole('link', { name: 'Slow statements' }).waitFor();
    const icons = await here.page
      .locator('nav a:not([href^="#/data/"], [href^="#/actions/"]) path')
      .evaluateAll((all: any[]) => all.map((each) => each.getAttribute('d')));
    expect(icons.length).toBe(11);
    expect(new Set(icons).size).toBe(icons.length);
    expect(here.complaints).toEqual([]);
  });

  test('requests, slow statements and migrations are told, and what anybody may do', async () => {
    await duet.json('GET', '/nowhere');
    await duet.json('POST', '/graphql', { query: 'mutation Gone { deleteOrder(id: 999999) { id } }' });
    await using here = await visit(duet.url);
    const { page } = here;
    await here.go('#/operate/requests');
    const rows = (name: RegExp) => page.getByRole('row', { name });
    await rows(/^GET \/nowhere 404/).waitFor();
    // Requests of GraphQL have one path: their operations tell one from another.
    await rows(/^POST \/graphql mutation Gone 200 with errors/).waitFor();
    // What this page itself has asked is marked, and what it reads when it is opened is not there at all.
    await here.go('#/data/Order');
    await page.getByText('A lamp').waitFor();
    await page.getByRole('link', { name: 'Requests' }).click();
    await rows(/^GET \/orders ?this page 200/)
      .first()
      .waitFor();
    expect(await rows(/^GET \/(openapi.json|access.json)? /).count()).toBe(0);
    await page.getByRole('checkbox', { name: 'Hide those of this page' }).check();
    await shows(() => rows(/this page/).count(), 0);
    await rows(/^GET \/nowhere 404/).waitFor();
    await page.getByRole('link', { name: 'Failed' }).click();
    await shows(() => page.getByRole('row', { name: / 200 \d/ }).count(), 0);
    await rows(/^POST \/graphql mutation Gone 200 with errors/).waitFor();
    await page.getByRole('row', { name: /^GET \/nowhere 404/ }).waitFor();
    await page.getByRole('link', { name: 'Slow statements' }).click();
    // Its own bookkeeping runs all the time: it is shown to those who want it. What writes a record beside it is a request's.
    const texts = () => page.locator('.statements pre').allTextContents();
    await page.getByText('INSERT INTO "Order"').first().waitFor();
    expect((await texts()).filter((each) => !each.includes('"Order"'))).toEqual([]);
    const own = page.getByRole('checkbox', { name: /^Show those of Duet itself, too \(\d+\)$/ });
    await own.check();
    await page.getByText('FROM "_duet_jobs"').first().waitFor();
    await own.uncheck();
    await shows(() => page.getByText('FROM "_duet_jobs"').count(), 0);
    expect(await page.getByText('INSERT INTO "Order"').count()).toBeGreaterThan(0);
    await page.getByRole('link', { name: 'Migrations' }).click();
    await page.getByText('create table Order').waitFor();
    await page.getByText('Files that mean the same have the same fingerprint').waitFor();
    const curl = await page.getByRole('article', { name: 'REST' }).locator('pre').textContent();
    expect(curl).toBe(`curl '${duet.url}/_duet/migrations'`);
    await page.getByRole('link', { name: 'View as' }).click();
    await page.getByText('everybody may do everything').waitFor();
    await page.getByRole('button', { name: 'Role clerk' }).click();
    await shows(() => page.getByLabel('Roles').inputValue(), 'clerk');
    await page.getByLabel('Roles').fill('clerk, ghost');
    await page.getByText('No rule names ghost.').waitFor();
    await page.getByRole('button', { name: 'Show what they may do' }).click();
    await page.getByRole('row', { name: 'Order all where (1) no no no' }).waitFor();
    await page.getByText('by eq claim sub').waitFor();
    await rows(/^stamp no$/).waitFor();
    await rows(/^count yes$/).waitFor();
    expect(await page.getByRole('button', { name: 'See the data as they do' }).count()).toBe(0);
    expect(here.complaints).toEqual([]);
  });
});

browsing('with authentication, on sqlite', () => {
  let duet: Awaited<ReturnType<typeof service>>;
  beforeAll(async () => {
    const logic = `export default { ${stamping} };`;
    duet = await service('sqlite', { sdl, data, logic, env: { AUTH_SECRET: SECRET } });
  });
  afterAll(() => duet.end());

  test('operators alone are offered it; a key is seen once and revoked, and data is seen as others see it', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    const signIn = async (token: string) => {
      await page.getByRole('main').getByRole('button', { name: 'Sign in' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Token').fill(token);
      await dialog.getByRole('button', { name: 'Sign in' }).click();
    };
    await here.go('#/operate/metrics');
    await page.getByText('You are not signed in').waitFor();
    expect(await page.getByRole('button', { name: 'Pause' }).count()).toBe(0);
    await here.go('#/operate/keys');
    await signIn(await tokenOf('bob'));
    await page.getByRole('button', { name: 'Account: bob' }).waitFor();
    expect(await page.getByRole('link', { name: 'API keys' }).count()).toBe(0);
    await page.getByText('It needs the role "admin".').waitFor();

    await signIn(await tokenOf('root', 'admin', 'clerk'));
    await page.getByText('There are no API keys yet').waitFor();
    await page.getByRole('button', { name: 'New key' }).click();
    await page.getByLabel('Name').fill('no name');
    // Those that the schema file names, for records or for actions, and those that the service asks for.
    const known = page.locator('.roles button');
    await shows(() => known.allTextContents(), ['clerk', 'stamper', 'admin', 'metrics']);
    await page.getByRole('button', { name: 'Role clerk' }).click();
    await page.getByRole('button', { name: 'Role admin' }).press('Enter');
    await shows(() => page.getByLabel('Roles').inputValue(), 'clerk, admin');
    // Whoever uses the keyboard stays where they are.
    await page.keyboard.press('Enter');
    await shows(() => page.getByLabel('Roles').inputValue(), 'clerk');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Space');
    await shows(() => page.getByLabel('Roles').inputValue(), 'clerk, metrics');
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.getByRole('alert').filter({ hasText: 'begin with a letter or digit' }).waitFor();
    await page.getByLabel('Name').fill('desk');
    await page.keyboard.press('Enter');
    const key =
      (await page.getByRole('dialog', { name: 'The key "desk"' }).locator('code').textContent()) ?? '';
    const orders = await fetch(`${duet.url}/orders`, { headers: { Authorization: `Bearer ${key}` } });
    expect([orders.status, ((await orders.json()) as unknown[]).length]).toEqual([200, 2]);
    await page.getByRole('button', { name: 'Done' }).click();
    const row = page.getByRole('row', { name: /^desk clerk ?metrics/ });
    await row.getByText('active').waitFor();
    expect(await page.content()).not.toContain(key);
    await row.getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('button', { name: 'Revoke it' }).click();
    await row.getByText('revoked').waitFor();

    // A reload keeps who one is, for the tab.
    await page.reload();
    await page.getByRole('button', { name: 'Account: root' }).click();
    await page.getByRole('dialog').getByText('admin, clerk').waitFor();
    await page.getByRole('button', { name: 'Close' }).click();

    await page.getByRole('link', { name: 'View as' }).click();
    await page.getByLabel('Subject').fill('bob');
    await page.getByRole('button', { name: 'Show what they may do' }).click();
    await page.getByText('by eq "bob"').waitFor();
    await page.getByRole('button', { name: 'See the data as they do' }).click();
    await page.getByText('You see and do everything as bob').waitFor();
    await page.getByRole('link', { name: 'Order' }).first().click();
    await page.getByText('A chair').waitFor();
    expect(await page.getByText('A lamp').count()).toBe(0);
    expect(await page.getByRole('link', { name: 'API keys' }).count()).toBe(0);
    await page.reload();
    await page.getByText('You see and do everything as bob').waitFor();
    await page.getByRole('button', { name: 'Stop viewing as bob' }).click();
    await page.getByText('A lamp').waitFor();
    await page.getByRole('link', { name: 'API keys' }).waitFor();
    await page.getByRole('button', { name: 'Account: root' }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await shows(() => page.getByRole('link', { name: 'API keys' }).count(), 0);
    expect(await page.evaluate('JSON.stringify({ ...sessionStorage })')).toBe('{}');
    expect(here.complaints).toEqual([]);
  });
});

browsing('where there is little room', () => {
  let duet: Awaited<ReturnType<typeof service>>;
  beforeAll(async () => {
    duet = await service('sqlite', { sdl, data, logic, env: { AUTH_KEYS: 'off' } });
    for (let n = 0; n < 6; n++) await duet.json('POST', '/orders', { by: 'ann', what: `Thing ${n}` });
    await duet.json('POST', '/_duet/keys', {
      name: 'till',
      roles: ['clerk', 'metrics', 'keeper-of-the-books'],
    });
    await duet.json('POST', '/_duet/webhooks', {
      url: 'http://127.0.0.1:9/hooks',
      on: ['Order.*'],
      allowPrivate: true,
    });
  });
  afterAll(() => duet.end());

  /** What is cut off in a table, by its row or its own edge, or lies below its buttons. */
  const hidden = `[...document.querySelectorAll('.sheet')].flatMap((sheet) => [
    ...(sheet.querySelector('.do') && sheet.scrollWidth > sheet.clientWidth ? ['below the buttons'] : []),
    ...[...sheet.querySelectorAll('td, th, code, .tag')]
      .filter((each) => each.scrollHeight > each.clientHeight + 1 || each.scrollWidth > each.clientWidth + 1)
      .map((each) => each.textContent),
  ])`;

  for (const width of [360, 1050, 1101, 1280])
    test(`at ${width} px nothing of a table is cut off`, async () => {
      await using here = await visit(duet.url, { viewport: { width, height: 740 } });
      const { page } = here;
      await here.go('#/operate/jobs');
      await page.getByText('the mail server is away').first().waitFor();
      expect(await page.evaluate(hidden)).toEqual([]);
      await here.go('#/operate/keys');
      await page.getByText('keeper-of-the-books').waitFor();
      expect(await page.evaluate(hidden)).toEqual([]);
      // Names are long, and some have a mark beside them.
      const query = `query ${'OrdersOfTheLastYear'.repeat(4)} { orders { id } }`;
      await duet.json('POST', '/graphql', { query });
      await here.go('#/operate/requests');
      await page
        .getByRole('row', { name: /^POST \/graphql query Introspection this page/ })
        .first()
        .waitFor();
      expect(await page.evaluate(hidden)).toEqual([]);
      const sheet = page.locator('.sheet');
      expect(await sheet.evaluate((each: any) => each.scrollWidth - each.clientWidth)).toBe(0);
      expect(await findings(page)).toEqual([]);
      await here.go('#/operate/metrics');
      await page.getByRole('button', { name: 'Pause' }).waitFor();
      expect(await findings(page)).toEqual([]);
      await here.go('#/operate/webhooks');
      for (let n = 6; n < 10; n++) await duet.json('POST', '/orders', { by: 'ann', what: `Thing ${n}` });
      const rows = page.getByRole('region', { name: /^Last deliveries/ }).locator('tbody tr');
      await shows(async () => {
        await page.getByRole('button', { name: 'Refresh' }).click();
        return page.getByRole('button', { name: /^Show the last \d+ deliveries/ }).count();
      }, 1);
      // Those of other webhooks are not far away.
      expect(await rows.count()).toBe(3);
      expect(await page.evaluate(hidden)).toEqual([]);
      // Where there is room, a time has one line.
      const broken = `[...document.querySelectorAll('.sheet time')].filter((each) => each.offsetHeight > 30).length`;
      if (width >= 1280) expect(await page.evaluate(broken)).toBe(0);
      // Of two that receive at one address, each is told by its id.
      await page
        .getByRole('article', { name: /hooks wh_/ })
        .getByRole('button', { name: /^Copy wh_/ })
        .waitFor();
      await page.getByRole('button', { name: /^Show the last/ }).click();
      await shows(async () => (await rows.count()) > 3, true);
      expect(here.complaints).toEqual([]);
    });

  test('what is chosen or wrong looks so, and a wrong address leads home', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    await here.go('#/data/Order');
    const language = page.getByLabel('Language');
    await language.selectOption('Typed client');
    // It has no word for what operators do: then the choice says what is shown.
    await page.getByRole('link', { name: 'API keys' }).click();
    await page.getByText('keeper-of-the-books').waitFor();
    await shows(() => language.inputValue(), 'curl');
    expect(await language.locator('option').allTextContents()).toEqual(['curl', 'JavaScript', 'Python']);
    await page.getByRole('link', { name: 'Order' }).first().click();
    await shows(() => language.inputValue(), 'Typed client');
    await page.getByRole('link', { name: 'View as' }).click();
    await page.getByLabel('Other claims').fill('{');
    await page.getByText('This is not a JSON object.').waitFor();
    const tops = [/^Subject/, /^Roles/, /^Other claims/].map(
      async (name) => (await page.getByLabel(name).boundingBox())?.y,
    );
    expect(new Set(await Promise.all(tops)).size).toBe(1);
    await page.evaluate("location.hash = '#/operate/nothing'");
    await page.getByRole('link', { name: 'Home' }).click();
    await page.getByRole('heading', { name: 'Resources' }).waitFor();
    await page.getByRole('link', { name: 'Jobs' }).click();
    await page
      .getByRole('button', { name: /^Retry Order/ })
      .first()
      .click();
    await page.getByText('1 job will be retried now.').waitFor();
    expect(here.complaints).toEqual([]);
  });

  test('ids are short and whole, what is retried has not failed for good, and migrations name fields, not columns', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    const key = '0190f5a0-7c1e-7a64-b3f5-000000000017';
    const job = { attempt: 3, at: '2025-01-02T03:04:05.678Z', error: 'the mail server is away' };
    await page.route('**/_duet/jobs', (route) =>
      route.fulfill({
        json: {
          waiting: 1,
          failed: 1,
          more: false,
          jobs: [
            { ...job, id: '1', of: `Order.afterCreate ${key}`, state: 'waiting' },
            { ...job, id: '2', of: `webhook:wh_5f0c9a1e77b2d340 Order ${key}`, state: 'failed' },
          ],
        },
      }),
    );
    await here.go('#/operate/jobs');
    const retried = page.getByRole('row', { name: /^Order.afterCreate 0190…000017 retrying/ });
    const record = retried.getByRole('link', { name: '0190…000017' });
    expect(await record.getAttribute('title')).toBe(key);
    expect(await record.getAttribute('href')).toBe(`#/data/Order/record/${key}`);
    await page.getByRole('row', { name: /^webhook wh_5…b2d340 Order 0190…000017 failed for good/ }).waitFor();
    // What is done to all of them is said before: to how many, to which, and that it is for good.
    for (const [verb, says] of [
      ['Retry', /webhook deliveries that have failed for good start at once.* still retried go on/],
      [
        'Drop',
        /webhook deliveries that have failed for good are deleted.* cannot be undone.* still retried stay/,
      ],
    ] as const) {
      await page.getByRole('button', { name: `${verb} all failed` }).click();
      const dialog = page.getByRole('dialog', { name: `${verb} 1 failed job?` });
      await dialog.getByText(says).waitFor();
      await dialog.getByRole('button', { name: 'Cancel' }).click();
    }
    await page.route('**/_duet/migrations', (route) =>
      route.fulfill({
        json: [
          { at: job.at, fingerprint: 'f'.repeat(26), steps: ['create unique index on Person (_f_email)'] },
        ],
      }),
    );
    await here.go('#/operate/migrations');
    await page.getByText('create unique index on Person (email without letter case)').waitFor();
    await page
      .getByRole('button', { name: 'Copy ffff…ffffff' })
      .and(page.getByTitle('f'.repeat(26)))
      .waitFor();
    expect(here.complaints).toEqual([]);
  });

  test('what metrics read by themselves can be stopped, by the keyboard too', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    let readings = 0;
    page.on('request', (request) => {
      if (request.url().endsWith('/metrics')) readings++;
    });
    await here.go('#/operate/metrics');
    await shows(() => readings > 1, true);
    await page.getByRole('button', { name: 'Pause' }).press('Enter');
    const goOn = page.getByRole('button', { name: 'Go on' });
    await goOn.waitFor();
    const before = readings;
    await Bun.sleep(2500);
    expect(readings).toBe(before);
    await goOn.press('Enter');
    await shows(() => readings > before, true);
    expect(here.complaints).toEqual([]);
  });

  test('on a telephone the menu has all of its choices in sight, and Escape closes it', async () => {
    await using here = await visit(duet.url, { viewport: { width: 360, height: 740 } });
    const { page } = here;
    await here.go('');
    const menu = page.getByRole('button', { name: 'Menu' });
    await menu.click();
    const theme = await page.getByLabel('Theme').boundingBox();
    expect((theme?.x ?? 0) + (theme?.width ?? 0)).toBeLessThanOrEqual(360);
    // Tab leads to its places, and then to the settings below them.
    const reached: string[] = [];
    for (let tabs = 0; tabs < 40 && reached.at(-1) !== 'settings'; tabs++) {
      await page.keyboard.press('Tab');
      reached.push(
        String(await page.evaluate('document.activeElement.closest(".top, .side, .settings")?.classList[0]')),
      );
    }
    expect([...new Set(reached)]).toEqual(['top', 'side', 'settings']);
    await page.keyboard.press('Escape');
    await shows(() => menu.getAttribute('aria-expanded'), 'false');
    expect(await page.evaluate('document.activeElement.ariaLabel')).toBe('Menu');
  });
});
