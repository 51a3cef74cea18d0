/** What somebody has typed and not saved is lost only when they say so; through both doors. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { headersOf, SECRET } from '../conformance/access-matrix.ts';
import { Folder, Server } from '../process.ts';
import { browsing, service, until } from './browser.ts';
import { type Door, doors, editing, thing, things } from './things.ts';

const question = (page: Page) => page.getByRole('dialog', { name: 'Discard changes?' });
const focused = (page: Page) =>
  page.evaluate('document.activeElement.id || document.activeElement.textContent');

/** Ways to leave the form of a record, and where they lead. */
const ways: Record<string, { leave: (page: Page) => Promise<unknown>; to: RegExp }> = {
  'a click in the sidebar': {
    leave: (page) =>
      page.getByRole('navigation', { name: 'Places' }).getByRole('link', { name: 'Owner' }).click(),
    to: /#\/data\/Owner$/,
  },
  'a click on the name of the house': { leave: (page) => page.locator('a.brand').click(), to: /#\/$/ },
  'a click on the crumbs': {
    leave: (page) => page.locator('.crumbs').getByRole('link', { name: 'Thing' }).click(),
    to: /#\/data\/Thing$/,
  },
  Cancel: {
    leave: (page) => page.getByRole('link', { name: 'Cancel' }).click(),
    to: /#\/data\/Thing\/record\/\d+$/,
  },
  'a click on GraphiQL': { leave: (page) => page.locator('.dock a').click(), to: /#\/graphiql/ },
  Back: { leave: (page) => page.evaluate('history.back()'), to: /#\/data\/Owner\?sort=name$/ },
  'Back by two': { leave: (page) => page.evaluate('history.go(-2)'), to: /#\/data\/Owner$/ },
  Forward: { leave: (page) => page.evaluate('history.forward()'), to: /#\/schema$/ },
  'another address': { leave: (page) => page.evaluate("location.hash = '#/live'"), to: /#\/live$/ },
};

browsing('drafts', () => {
  let duet: Awaited<ReturnType<typeof service>>;
  beforeAll(async () => {
    duet = await service('sqlite', things);
  });
  afterAll(() => duet.end());

  const made = async () => (await duet.json('POST', '/things', thing)).id as number;

  describe.each([...doors])('through %s', (door) => {
    /** A form with something behind it and something before it. */
    const between = async () => {
      const id = await made();
      const form = `#/data/Thing/record/${id}/edit`;
      const here = await editing(duet.url, door, '#/data/Owner?sort=name');
      await here.go(form);
      await here.go('#/schema');
      await here.page.goBack();
      await here.input('nick').waitFor();
      return Object.assign(here, { id, form });
    };

    test.each(Object.keys(ways))('%s asks before it takes changes along', async (name) => {
      const { leave, to } = ways[name] as (typeof ways)[string];
      await using here = await between();
      const { page, form } = here;
      await here.input('nick').fill('typed');
      for (const keep of ['Enter', 'Escape']) {
        await leave(page);
        await question(page).waitFor();
        expect(await focused(page)).toBe('Keep editing');
        await page.keyboard.press(keep);
        await question(page).waitFor({ state: 'detached' });
        await until(async () => (await page.evaluate('location.hash')) === form);
        expect(await here.input('nick').inputValue()).toBe('typed');
      }
      await leave(page);
      await question(page).getByRole('button', { name: 'Discard changes' }).click();
      await page.waitForURL(to);
      await question(page).waitFor({ state: 'detached' });
      expect(await here.input('nick').count()).toBe(0);
      expect(here.sent).toEqual([]);
      expect(here.complaints).toEqual([]);
    });

    test.each(['a click in the sidebar', 'Back', 'Forward'])(
      '%s asks nothing when nothing is changed',
      async (name) => {
        const { leave, to } = ways[name] as (typeof ways)[string];
        await using here = await between();
        const { page } = here;
        await here.input('nick').fill('typed');
        await here.input('nick').fill('nick');
        await here.input('amount').fill('2');
        await here.input('amount').fill('1.50');
        await here.input('color').selectOption('GREEN');
        await here.input('color').selectOption('RED');
        await leave(page);
        await page.waitForURL(to);
        expect(await question(page).count()).toBe(0);
      },
    );

    test('who keeps editing is where they were, and Back and Forward lead where they did', async () => {
      await using here = await between();
      const { page, form } = here;
      await here.input('nick').fill('typed');
      await here.input('amount').focus();
      for (const [step, key] of [
        ['history.back()', 'Escape'],
        ['history.forward()', 'Enter'],
        ['history.back()', 'Enter'],
      ] as const) {
        await page.evaluate(step);
        await question(page).waitFor();
        await page.keyboard.press(key);
        await question(page).waitFor({ state: 'detached' });
        await until(async () => (await page.evaluate('location.hash')) === form);
        expect(await focused(page)).toBe('field-amount');
      }
      await here.save();
      expect(here.sent).toEqual([{ nick: 'typed' }]);
      await page.goBack();
      await page.waitForURL((url) => url.href.endsWith(form));
      await page.goBack();
      await page.waitForURL(ways['Back']?.to ?? '');
    });

    test('a link to where one is, and a reload, leave the way back as it was', async () => {
      await using here = await editing(duet.url, door, '#/live');
      const { page } = here;
      const form = `#/data/Thing/record/${await made()}/edit`;
      const owners = page.getByRole('navigation', { name: 'Places' }).getByRole('link', { name: 'Owner' });
      await owners.click();
      await page.getByRole('heading', { name: 'Owner' }).waitFor();
      await owners.click();
      // Chromium keeps what was noted of the entry; by the standard it is a new one, of which nothing is.
      await page.evaluate("history.replaceState(null, ''); dispatchEvent(new PopStateEvent('popstate'))");
      await here.go(form);
      await here.input('nick').waitFor();
      await page.reload();
      await here.input('nick').fill('typed');
      for (const steps of [-1, -2]) {
        await page.evaluate(`history.go(${steps})`);
        await question(page).waitFor();
        await page.keyboard.press('Escape');
        await until(async () => (await page.evaluate('location.hash')) === form);
      }
      await page.evaluate('history.back()');
      await question(page).getByRole('button', { name: 'Discard changes' }).click();
      await page.waitForURL(/#\/data\/Owner$/);
      await page.goBack();
      await page.waitForURL(/#\/live$/);
    });

    test('a new record asks too, also for what only begins a value, and not for what came with the address', async () => {
      await using here = await editing(duet.url, door, '#/data/Owner/record/1');
      const { page } = here;
      const leave = () => page.getByRole('link', { name: 'Cancel' }).click();
      await page.getByRole('link', { name: 'Add' }).click();
      await page.getByRole('heading', { name: 'New Thing' }).waitFor();
      await leave();
      await page.waitForURL(/#\/data\/Thing$/);
      await page.goBack();
      await page.getByRole('heading', { name: 'New Thing' }).waitFor();
      await here.input('name').fill('x');
      await here.input('name').fill('');
      await leave();
      await page.waitForURL(/#\/data\/Thing$/);
      const begun: [string, string][] = [
        ['extra', '{'],
        ['amount', '-'],
        ['day', '02'],
        ['ownerId', 'x'],
      ];
      for (const [name, text] of begun) {
        await here.go('#/data/Thing/new');
        await here.input(name).focus();
        await page.keyboard.type(text);
        await page.getByRole('link', { name: 'Duet' }).click();
        await question(page).getByRole('button', { name: 'Discard changes' }).click();
        await page.waitForURL(/#\/$/);
      }
      expect(here.complaints).toEqual([]);
    });

    test('a new record of another address begins with what that gives', async () => {
      await using here = await editing(duet.url, door, '#/data/Thing/new?ownerId=1');
      await until(async () => (await here.input('ownerId').inputValue()) === 'Ada');
      await here.go('#/data/Thing/new?ownerId=2');
      await until(async () => (await here.input('ownerId').inputValue()) === 'Grace');
    });

    test('a reload, and the closing of the tab, ask as browsers do', async () => {
      await using here = await between();
      const { page } = here;
      const asked: string[] = [];
      let answer: 'accept' | 'dismiss' = 'dismiss';
      page.on('dialog', async (dialog) => {
        asked.push(dialog.type());
        await dialog[answer]();
      });
      await here.input('nick').focus();
      await page.keyboard.type('!');
      await page.reload({ timeout: 2000 }).catch(() => {});
      expect(asked).toEqual(['beforeunload']);
      expect(await here.input('nick').inputValue()).toBe('nick!');
      await page.close({ runBeforeUnload: true });
      await until(async () => asked.length === 2);
      expect(page.isClosed()).toBe(false);
      await here.input('nick').fill('nick');
      await page.reload();
      await here.input('nick').waitFor();
      expect(asked.length).toBe(2);
      answer = 'accept';
      await here.input('nick').fill('typed');
      await page.reload();
      await here.input('nick').waitFor();
      expect(await here.input('nick').inputValue()).toBe('nick');
    });

    test('the other door, and a look at both, leave what was typed alone', async () => {
      await using here = await between();
      const { page } = here;
      await here.input('nick').fill('typed');
      await here.input('extra').fill('{"b":');
      await page.getByRole('radio', { name: door === 'REST' ? 'GraphQL' : 'REST' }).check();
      await page.getByRole('button', { name: 'Both doors' }).click();
      await page.getByLabel('Colours').selectOption('dark');
      expect(await here.input('nick').inputValue()).toBe('typed');
      expect(await here.input('extra').inputValue()).toBe('{"b":');
      await here.input('extra').fill('{"b":1}');
      await here.save();
      expect(here.sent).toEqual([{ nick: 'typed', extra: { b: 1 } }]);
    });

    test('an impatient hand makes one record', async () => {
      await using here = await editing(duet.url, door, '#/data/Owner/new');
      const { page } = here;
      const slow = Promise.withResolvers<void>();
      await page.route(/\/(owners|graphql)$/, async (route) => {
        if (route.request().method() === 'POST' && route.request().postData()?.includes('Impatient'))
          await slow.promise;
        await route.continue();
      });
      await here.input('name').fill('Impatient');
      await page.getByRole('button', { name: 'Create' }).dblclick();
      await page.keyboard.press('Enter');
      await page.evaluate("document.querySelector('form.record').requestSubmit()");
      // What cannot be sent along is not taken either.
      await page.evaluate("document.getElementById('field-name').focus()");
      await page.keyboard.type(' and late');
      expect(await here.input('name').inputValue()).toBe('Impatient');
      slow.resolve();
      await page.getByRole('heading', { name: 'Impatient', exact: true }).waitFor();
      expect(here.sent).toEqual([{ name: 'Impatient' }]);
    });

    test('who left while it was saved is not called back', async () => {
      await using here = await between();
      const { page } = here;
      const slow = Promise.withResolvers<void>();
      await page.route(/\/(things\/\d+|graphql)$/, async (route) => {
        if (route.request().postData()?.includes('typed')) await slow.promise;
        await route.continue();
      });
      await here.input('nick').fill('typed');
      const answered = page.waitForResponse(
        (response) => response.request().postData()?.includes('typed') ?? false,
      );
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByRole('link', { name: 'Owner' }).first().click();
      await question(page).getByRole('button', { name: 'Discard changes' }).click();
      await page.waitForURL(/#\/data\/Owner$/);
      slow.resolve();
      await answered;
      await page.getByRole('cell', { name: 'Grace' }).waitFor();
      await Bun.sleep(200);
      expect(page.url()).toEndWith('#/data/Owner');
    });

    test('what cannot be saved stays, and why is in sight', async () => {
      await using here = await between();
      const { page } = here;
      await here.input('nick').fill('typed');
      const writes = /\/(things\/\d+|graphql)$/;
      let how: 'fail' | 'offline' | 'garbage' = 'fail';
      await page.route(writes, (route) => {
        if (!route.request().postData()?.includes('typed')) return route.continue();
        if (how === 'offline') return route.abort('internetdisconnected');
        if (how === 'garbage')
          return route.fulfill({ status: 502, contentType: 'text/html', body: '<h1>Bad gateway' });
        return route.fulfill({
          status: 500,
          contentType: 'application/problem+json',
          body: '{"code":"INTERNAL","detail":"Something went wrong."}',
        });
      });
      for (how of ['fail', 'offline', 'garbage'] as const) {
        await here.input('nick').focus();
        await page.keyboard.press('End');
        await page.getByRole('button', { name: 'Save' }).click();
        const notice = page
          .getByRole('alert')
          .filter({ hasText: how === 'offline' ? 'cannot be reached' : /INTERNAL|UNKNOWN/ });
        await notice.waitFor();
        const box = await notice.boundingBox();
        expect(box && box.y >= 0 && box.y + box.height <= 900).toBe(true);
        expect(await here.input('nick').inputValue()).toBe('typed');
        await page.getByRole('link', { name: 'Cancel' }).click();
        await question(page).waitFor();
        await page.keyboard.press('Escape');
      }
      await page.unroute(writes);
      await here.save();
      expect((await duet.json('GET', `/things/${here.id}`)).nick).toBe('typed');
    });

    test('in a conflict what was typed stays until it is decided', async () => {
      await using here = await between();
      const { page, id } = here;
      await here.input('nick').fill('');
      await here.input('code').fill('mine');
      await duet.json('PUT', `/things/${id}`, { nick: '', code: 'theirs' });
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('Somebody has changed this record').waitFor();
      expect(await page.locator('.conflict tbody tr').allTextContents()).toEqual([
        'nicknick null empty',
        'codec mine theirs',
      ]);
      await page.getByRole('link', { name: 'Owner' }).first().click();
      await question(page).waitFor();
      await page.keyboard.press('Escape');
      await page.getByRole('button', { name: 'Save what is chosen' }).click();
      await page.locator('dl.fields').waitFor();
      expect(await duet.json('GET', `/things/${id}`)).toMatchObject({ nick: null, code: 'mine' });
    });

    test('what two tabs change is not mixed up', async () => {
      await using here = await between();
      const { page, id } = here;
      await here.input('nick').fill('of the first');
      const other = await page.context().newPage();
      await other.goto(page.url());
      await other.locator('#field-code').fill('second');
      await other.getByRole('button', { name: 'Save' }).click();
      await other.locator('dl.fields').waitFor();
      expect(await here.input('nick').inputValue()).toBe('of the first');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('Somebody has changed this record').waitFor();
      await page.getByRole('button', { name: 'Save what is chosen' }).click();
      await page.locator('dl.fields').waitFor();
      expect(await duet.json('GET', `/things/${id}`)).toMatchObject({ nick: 'of the first', code: 'second' });
    });

    test('the filter panel shows what the address says, after Back and Forward too', async () => {
      await using here = await editing(duet.url, door, '#/data/Owner?name[eq]=Ada&sort=-name');
      const { page } = here;
      const shown = async () => ({
        value: await page.getByLabel('Value').evaluateAll((all) => all.map((each: any) => each.value)),
        rows: await page.locator('tbody td:nth-child(2)').allTextContents(),
        order: await page.getByRole('columnheader', { name: /^name/ }).getAttribute('aria-sort'),
      });
      await page.getByRole('cell', { name: 'Ada' }).waitFor();
      await page.getByRole('button', { name: 'Filter' }).click();
      const first = { value: ['Ada'], rows: ['Ada'], order: 'descending' };
      expect(await shown()).toEqual(first);
      await here.go('#/data/Owner?name[startsWith]=Gr&sort=name');
      await page.getByRole('cell', { name: 'Grace' }).waitFor();
      const second = { value: ['Gr'], rows: ['Grace'], order: 'ascending' };
      expect(await shown()).toEqual(second);
      await page.goBack();
      await until(async () => Bun.deepEquals(await shown(), first));
      // An order or a page is no other filter: what is being typed there stays.
      await page.getByLabel('Value').fill('Adam');
      await page.getByRole('button', { name: /^name/ }).click();
      await page.waitForURL(/name\[eq\]=Ada$/);
      expect(await page.getByLabel('Value').inputValue()).toBe('Adam');
      await page.goBack();
      await page.goForward();
      await page.goBack();
      await until(async () => Bun.deepEquals(await shown(), { ...first, value: ['Adam'] }));
    });
  });

  const tokenOf = async (sub: string) => {
    const { Authorization = '' } = await headersOf({ name: `drafts ${sub}`, claims: { sub, roles: [] } });
    return Authorization.replace('Bearer ', '');
  };

  describe.each([...doors])('with rules, through %s', (door) => {
    test('a token that ran out, a wrong one, and one that may do less leave what was typed alone', async () => {
      const sdl = `
type Owner @resource @allow(to: [READ, CREATE]) { id: ID! name: String! }
type Note @resource
  @allow(to: [READ])
  @allow(to: [CREATE, UPDATE], role: "authenticated", where: { by: { eq: { claim: "sub" } } })
{ id: ID! by: String! text: String! }`;
      const duet = await service('sqlite', {
        sdl,
        data: { owners: [], notes: [{ by: 'ann', text: 'Of Ann' }] },
        env: { AUTH_SECRET: SECRET },
      });
      try {
        await using here = await editing(duet.url, door, '#/data/Note');
        const { page } = here;
        const dialog = page.getByRole('dialog', { name: 'Who is asking' });
        const take = async (token: string) => {
          await dialog.getByLabel('Token').fill(token);
          await dialog.getByRole('button', { name: 'Use it' }).click();
        };
        const text = () => here.input('text').inputValue();
        await page.getByRole('button', { name: 'Token' }).click();
        await take(await tokenOf('ann'));
        await dialog.waitFor({ state: 'detached' });
        await page.evaluate("location.hash = '#/data/Note/record/1/edit'");
        await here.input('text').fill('typed');
        // Whoever asks for nothing any more may not write: the form is there all the same.
        await page.getByRole('button', { name: 'Token' }).click();
        await take('');
        await dialog.waitFor({ state: 'detached' });
        await page.getByRole('button', { name: 'Save' }).click();
        await dialog.waitFor();
        expect(await text()).toBe('typed');
        const refused = page.waitForResponse((response) => response.status() === 401);
        await take('not.a.token');
        await refused;
        await dialog.waitFor();
        expect(await text()).toBe('typed');
        await take(await tokenOf('ann'));
        await dialog.waitFor({ state: 'detached' });
        await page.getByRole('button', { name: 'Save' }).click();
        await page.locator('dl.fields').waitFor();
        expect((await duet.json('GET', '/notes/1')).text).toBe('typed');
        expect(here.complaints).toEqual([]);
      } finally {
        await duet.end();
      }
    });

    test('a service that comes back with another schema file takes what was typed', async () => {
      const { buildConsole } = await import('./build.ts');
      await buildConsole();
      const old = 'type Owner @resource { id: ID! name: String! note: String }';
      using folder = new Folder({ 'schema.graphql': old, 'data.json': '{"owners":[{"name":"Ada"}]}' });
      const env = { DATABASE_URL: 'sqlite:duet.db' };
      let server = await Server.start(folder, env);
      const { url } = server;
      await using here = await editing(url, door as Door, '#/data/Owner/record/1/edit');
      const { page } = here;
      await here.input('note').fill('typed');
      await server[Symbol.asyncDispose]();
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByRole('alert').filter({ hasText: 'cannot be reached' }).waitFor();
      await Bun.write(folder.file('schema.graphql'), old.replace('note', 'more: Int note'));
      server = await Server.start(folder, { ...env, PORT: new URL(url).port });
      try {
        await here.save();
        const row = await (await fetch(`${url}/owners/1`)).json();
        expect(row).toEqual({ id: 1, name: 'Ada', more: null, note: 'typed' });
      } finally {
        await server[Symbol.asyncDispose]();
      }
    });
  });
});
