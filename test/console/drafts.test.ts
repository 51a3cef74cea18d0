/** What somebody has typed stays until it is saved, whatever happens meanwhile; through both doors. */

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { headersOf, SECRET } from '../conformance/access-matrix.ts';
import { Folder, Server } from '../process.ts';
import { browsing, service, shows } from './browser.ts';
import { buildConsole } from './build.ts';
import { between, editing, onBoth, question, things } from './things.ts';

browsing.each(onBoth)('drafts, through %s on %s', (door, database) => {
  let duet: Awaited<ReturnType<typeof service>>;
  beforeAll(async () => {
    duet = await service(database, things);
  });
  afterAll(() => duet.end());
  test('the other door, and a look at both, leave what was typed alone', async () => {
    await using here = await between(duet, door);
    const { page } = here;
    await here.input('nick').fill('typed');
    await here.input('extra').fill('{"b":');
    await page.getByRole('radio', { name: door === 'REST' ? 'GraphQL' : 'REST' }).check();
    await page.getByRole('button', { name: 'REST and GraphQL' }).click();
    await page.getByLabel('Theme').selectOption('dark');
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
    await using here = await between(duet, door);
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
    await page.getByRole('gridcell', { name: 'Grace' }).waitFor();
    // Told where the answer was read, just before the form would go on.
    await page.getByRole('option', { name: 'Last change' }).waitFor({ state: 'attached' });
    expect(page.url()).toEndWith('#/data/Owner');
  });

  test('what cannot be saved stays, and why is in sight', async () => {
    await using here = await between(duet, door);
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

  test('Save without a change leads to the record, or leaves the form there while the service is away', async () => {
    await using here = await between(duet, door);
    const { page } = here;
    await page.context().setOffline(true);
    await page.getByRole('button', { name: 'Save' }).click();
    await page
      .getByRole('alert')
      .filter({ hasText: /cannot be reached|Not sent/ })
      .waitFor();
    expect(await here.input('nick').inputValue()).toBe('nick');
    await page.context().setOffline(false);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.locator('main > dl.fields').waitFor();
    expect(here.sent).toEqual([]);
    expect(here.complaints).toEqual([]);
  });

  test('in a conflict what was typed stays until it is decided', async () => {
    await using here = await between(duet, door);
    const { page, id } = here;
    await here.input('nick').fill('');
    await here.input('code').fill('mine');
    await duet.json('PUT', `/things/${id}`, { nick: '', code: 'theirs' });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Somebody has changed this record').waitFor();
    await shows(
      () => page.locator('.conflict tbody tr').allTextContents(),
      ['nicknick null empty', 'codec mine theirs'],
    );
    await page.getByRole('link', { name: 'Owner' }).first().click();
    await question(page).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Save selected values' }).click();
    await page.locator('main > dl.fields').waitFor();
    expect(await duet.json('GET', `/things/${id}`)).toMatchObject({ nick: null, code: 'mine' });
  });

  test('what two tabs change is not mixed up', async () => {
    await using here = await between(duet, door, { isDrawn: true });
    const { page, id } = here;
    await here.input('nick').fill('of the first');
    const other = await page.context().newPage();
    await other.goto(page.url());
    await other.locator('#field-code').fill('second');
    await other.getByRole('button', { name: 'Save' }).click();
    await other.locator('main > dl.fields').waitFor();
    expect(await here.input('nick').inputValue()).toBe('of the first');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Somebody has changed this record').waitFor();
    await page.getByRole('button', { name: 'Save selected values' }).click();
    await page.locator('main > dl.fields').waitFor();
    expect(await duet.json('GET', `/things/${id}`)).toMatchObject({ nick: 'of the first', code: 'second' });
  });

  test('the filter panel shows what the address says, after Back and Forward too', async () => {
    await using here = await editing(duet.url, door, '#/data/Owner?name[eq]=Ada&sort=-name');
    const { page } = here;
    const shown = async () => ({
      value: await page.getByLabel('Value').evaluateAll((all) => all.map((each: any) => each.value)),
      rows: await page.locator('tbody td:first-child').allTextContents(),
      order: await page.getByRole('columnheader', { name: /^name/ }).getAttribute('aria-sort'),
    });
    await page.getByRole('gridcell', { name: 'Ada' }).waitFor();
    await page.getByRole('button', { name: 'Filter' }).click();
    const first = { value: ['Ada'], rows: ['Ada'], order: 'descending' };
    await shows(shown, first);
    await here.go('#/data/Owner?name[startsWith]=Gr&sort=name');
    await page.getByRole('gridcell', { name: 'Grace' }).waitFor();
    const second = { value: ['Gr'], rows: ['Grace'], order: 'ascending' };
    await shows(shown, second);
    await page.goBack();
    await shows(shown, first);
    // An order or a page is no other filter: what is being typed there stays.
    await page.getByLabel('Value').fill('Adam');
    await page.getByRole('button', { name: /^name/ }).click();
    await page.waitForURL(/name\[eq\]=Ada$/);
    expect(await page.getByLabel('Value').inputValue()).toBe('Adam');
    await page.goBack();
    await page.goForward();
    await page.goBack();
    await shows(shown, { ...first, value: ['Adam'] });
    // Nor does another page take it, built or written; once it is applied, it is no draft any more.
    await here.go('#/schema');
    await page.getByRole('heading', { name: 'Schema' }).waitFor();
    await page.goBack();
    await page.getByRole('button', { name: 'Filter' }).click();
    await shows(shown, { ...first, value: ['Adam'] });
    await page.getByRole('button', { name: 'Edit as JSON' }).click();
    await page.getByLabel('The filter as JSON').fill('{"name":{"eq":"Gra');
    await page.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('button', { name: 'Filter' }).click();
    expect(await page.getByLabel('The filter as JSON').inputValue()).toBe('{"name":{"eq":"Gra');
    await page.getByLabel('The filter as JSON').fill('{"name":{"eq":"Grace"}}');
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByRole('gridcell', { name: 'Grace' }).waitFor();
    await page.goBack();
    await page.getByRole('gridcell', { name: 'Ada' }).waitFor();
    await page.getByRole('button', { name: 'Filter' }).click();
    await shows(shown, first);
  });

  const tokenOf = async (sub: string) => {
    const { Authorization = '' } = await headersOf({ name: `drafts ${sub}`, claims: { sub, roles: [] } });
    return Authorization.replace('Bearer ', '');
  };

  test('a token that ran out, a wrong one, and one that may do less leave what was typed alone', async () => {
    const sdl = `
type Owner @resource @allow(to: [READ, CREATE]) { id: ID! name: String! }
type Note @resource
  @allow(to: [READ])
  @allow(to: [CREATE, UPDATE], role: "authenticated", where: { by: { eq: { claim: "sub" } } })
{ id: ID! by: String! text: String! }`;
    const duet = await service(database, {
      sdl,
      data: { owners: [], notes: [{ by: 'ann', text: 'Of Ann' }] },
      env: { AUTH_SECRET: SECRET },
    });
    try {
      await using here = await editing(duet.url, door, '#/data/Note');
      const { page } = here;
      const dialog = page.getByRole('dialog', { name: 'Sign in' });
      const take = async (token: string) => {
        await dialog.getByLabel('Token').fill(token);
        await dialog.getByRole('button', { name: 'Sign in' }).click();
      };
      const text = () => here.input('text').inputValue();
      await page.getByRole('button', { name: 'Sign in' }).click();
      await take(await tokenOf('ann'));
      await dialog.waitFor({ state: 'detached' });
      await page.evaluate("location.hash = '#/data/Note/record/1/edit'");
      await here.input('text').fill('typed');
      // Whoever asks for nothing any more may not write: the form is there all the same.
      await page.getByRole('button', { name: 'Account: ann' }).click();
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByRole('dialog').waitFor({ state: 'detached' });
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
      await page.locator('main > dl.fields').waitFor();
      expect((await duet.json('GET', '/notes/1')).text).toBe('typed');
      expect(here.complaints).toEqual([]);
    } finally {
      await duet.end();
    }
  });

  test('a service that comes back with another schema file takes what was typed', async () => {
    await buildConsole();
    const old = 'type Owner @resource { id: ID! name: String! note: String }';
    using folder = new Folder({ 'schema.graphql': old, 'data.json': '{"owners":[{"name":"Ada"}]}' });
    const env = { DATABASE_URL: 'sqlite:duet.db' };
    let server = await Server.start(folder, env);
    const { url } = server;
    await using here = await editing(url, door, '#/data/Owner/record/1/edit');
    const { page } = here;
    await here.input('note').fill('typed');
    await server[Symbol.asyncDispose]();
    await page.getByRole('button', { name: 'Save' }).click();
    await page
      .getByRole('alert')
      .filter({ hasText: /cannot be reached|Not sent/ })
      .waitFor();
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
