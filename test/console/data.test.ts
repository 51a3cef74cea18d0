/** The data browser: what people do with records, on the real service, on both databases. */

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { databases } from '../app.ts';
import { browsing, service, shows, visit } from './browser.ts';
import { fetchCurl } from './curl.ts';

browsing.each([...databases])('on %s', (database) => {
  let duet: Awaited<ReturnType<typeof service>>;
  beforeAll(async () => {
    duet = await service(database);
    for (let at = 1; at <= 60; at++)
      await duet.json('POST', '/items', {
        name: `Thing ${at}`,
        price: at % 7 === 0 ? null : at,
        quantity: at,
      });
  });
  afterAll(() => duet.end());

  test('create: faults stand at their fields, a reference is found by its text', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    await here.go('#/data/Post');
    await page.getByRole('link', { name: 'New' }).click();
    await page.getByLabel('title').fill('');
    await page.getByRole('button', { name: 'Create' }).click();
    const field = page.locator('.field', { has: page.getByLabel('title') });
    await field.getByRole('alert').filter({ hasText: 'title is required' }).waitFor();
    expect(await page.getByLabel('title').getAttribute('aria-invalid')).toBe('true');

    await page.getByLabel('title').fill('Made in a browser');
    await page.getByRole('textbox', { name: 'body' }).fill('Two\nlines');
    await page.getByLabel('author').pressSequentially('grace');
    await page.getByRole('option', { name: 'Grace Hopper' }).click();
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { name: 'Made in a browser' }).waitFor();
    const author = page.getByRole('link', { name: 'Grace Hopper' });
    expect(await author.getAttribute('href')).toBe('#/data/User/record/2');
    // What it took is known after its view was left.
    await page.getByLabel('What to show').selectOption('Last change');
    const rest = page.getByRole('article', { name: 'REST' });
    await rest.locator('pre', { hasText: '"title":"Made in a browser"' }).waitFor();
    await rest.locator('.cost', { hasText: /^[\d.]+ ms · \d+ B · [1-9]\d* statements?$/ }).waitFor();
    const [made] = await duet.json('GET', '/posts?sort=-id&limit=1');
    expect(made).toMatchObject({ title: 'Made in a browser', body: 'Two\nlines', authorId: 2 });
    expect(here.complaints).toEqual([]);
  });

  test('sort and page: in the address, so that a reload and the back button keep them', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    await here.go('#/data/Item');
    const names = () => page.locator('tbody tr td:first-child').allTextContents();
    await page.getByRole('button', { name: /^quantity/ }).click();
    await page.getByRole('button', { name: /^quantity/ }).click();
    await page.getByText('Thing 60').waitFor();
    await page.waitForURL(/#\/data\/Item\?sort=-quantity$/);
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByText('Thing 35', { exact: true }).waitFor();
    const second = await names();
    expect(second.length).toBe(25);
    await page.reload();
    await page.getByText('Thing 35', { exact: true }).waitFor();
    await shows(names, second);
    await page.getByText('26–50 of 63').waitFor();
    await page.getByRole('button', { name: 'Previous' }).click();
    await page.getByText('Thing 60').waitFor();
    await page.getByText('1–25 of 63').waitFor();
    await page.goBack();
    await page.getByText('Thing 35', { exact: true }).waitFor();
    await page.getByText('26–50 of 63').waitFor();
    expect(here.complaints).toEqual([]);
  });

  test('filter: with the operators of the grammar, through references and lists', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    await here.go('#/data/Post');
    await page.getByText('The first bug').waitFor();
    await page.getByRole('button', { name: 'Filter' }).click();
    await page.getByLabel('Field').selectOption('author.name');
    const operators = await page
      .getByLabel('Operator')
      .locator('option')
      .evaluateAll((all) => all.map((each: any) => each.value));
    expect(operators).toEqual([
      'eq',
      'ne',
      'gt',
      'gte',
      'lt',
      'lte',
      'in',
      'contains',
      'startsWith',
      'endsWith',
      'isNull',
    ]);
    await page.getByLabel('Operator').selectOption('startsWith');
    await page.getByLabel('Value').fill('Ada');
    await page.getByRole('button', { name: 'comments' }).click();
    await page.getByRole('button', { name: 'Condition' }).first().click();
    await page.getByLabel('Value').last().fill('twice');
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByText('The first bug').waitFor({ state: 'detached' });
    await shows(() => page.locator('tbody tr').count(), 1);
    expect(new URL(page.url().replace('#/', '')).searchParams.get('where')).toBe(
      '{"and":[{"author":{"name":{"startsWith":"Ada"}}},{"comments":{"some":{"body":{"contains":"twice"}}}}]}',
    );
    const chips = page.getByRole('list', { name: 'Filters' });
    await shows(
      () => chips.getByRole('listitem').allTextContents(),
      ['author.name starts with Ada', 'some comments with (body contains twice)', 'Clear all'],
    );
    // What the address says, the builder shows.
    await page.getByRole('button', { name: 'Filter' }).click();
    await shows(
      () => page.getByLabel('Value').evaluateAll((all) => all.map((each: any) => each.value)),
      ['Ada', 'twice'],
    );
    await page.getByRole('button', { name: 'Edit as JSON' }).click();
    await page.getByLabel('The filter as JSON').fill('{"not":{"id":{"in":[1,2]}}}');
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByText('The first bug').waitFor();
    await page.getByText('On Bernoulli numbers').waitFor({ state: 'detached' });
    await shows(() => chips.textContent(), 'not (id is one of 1, 2)');
    const either = { and: [{ or: [{ id: { eq: 1 } }, { title: { contains: 'bug' } }] }, { id: { lt: 3 } }] };
    await here.go(`#/data/Post?where=${encodeURIComponent(JSON.stringify(either))}`);
    await page.getByRole('link', { name: 'Remove id is less than 3' }).click();
    await page.getByText('The first bug').waitFor();
    await shows(() => chips.textContent(), 'id is 1 or title contains bug');
    await here.go('#/data/Item?price[isNull]=true&quantity[gt]=10&sort=quantity');
    await page.getByText('Thing 14').waitFor();
    await shows(
      () => chips.getByRole('listitem').allTextContents(),
      ['price is null', 'quantity is more than 10', 'Clear all'],
    );
    // That it is a part, and of how much, is told.
    await shows(() => page.locator('.title .count').textContent(), '7 of 63');
    await page.getByRole('button', { name: 'Filter 2' }).waitFor();
    await page.getByRole('link', { name: 'Remove quantity is more than 10' }).click();
    await page.getByText('Thing 7', { exact: true }).waitFor();
    await page.goBack();
    await page.getByRole('link', { name: 'Clear all' }).click();
    await page.waitForURL(/#\/data\/Item\?sort=quantity$/);
    await shows(() => page.locator('.title .count').textContent(), '63');
    expect(here.complaints).toEqual([]);
  });

  test('edit: only what was changed is sent, with its version; a conflict shows both sides', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    const note = await duet.json('POST', '/notes', { title: 'First', body: 'one' });
    await here.go('#/data/Note?sort=-id');
    await page.getByRole('link', { name: 'First', exact: true }).click();
    await page.getByRole('link', { name: 'Edit' }).click();
    await page.getByLabel('title').fill('Mine');
    const sent = page.waitForRequest((request) => request.method() === 'PUT');
    await page.getByRole('button', { name: 'Save' }).click();
    expect((await sent).postDataJSON()).toEqual({ title: 'Mine' });
    expect((await sent).headers()['if-match']).toMatch(/^"1-/);
    await page.getByRole('heading', { name: 'Mine' }).waitFor();

    await page.getByRole('link', { name: 'Edit' }).click();
    await page.getByLabel('title').fill('Mine again');
    await page.getByLabel('body').fill('mine');
    await duet.json('PUT', `/notes/${note.id}`, { title: 'Theirs', body: 'theirs' });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Somebody has changed this record').waitFor();
    await shows(
      () => page.locator('.conflict tbody tr').allTextContents(),
      ['titleMine Mine again Theirs', 'bodyone mine theirs'],
    );
    await page.getByRole('radio', { name: 'body: theirs' }).check();
    // What is shown is what will be sent: the choice, on top of their version.
    const dock = page.getByRole('region', { name: 'REST and GraphQL' });
    await dock.getByText('{"title":"Mine again"}').first().waitFor();
    await dock.getByText(/If-Match: "3-/).waitFor();
    await page.getByRole('button', { name: 'Save selected values' }).click();
    await page.getByRole('heading', { name: 'Mine again' }).waitFor();
    expect(await duet.json('GET', `/notes/${note.id}`)).toMatchObject({
      title: 'Mine again',
      body: 'theirs',
    });
    expect(here.complaints).toEqual([]);
  });

  test('delete: asks once, and says why it cannot be', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    const todo = await duet.json('POST', '/todos', { title: 'Go away' });
    await here.go(`#/data/Todo/record/${todo.id}`);
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('button', { name: 'Delete it' }).click();
    await page.waitForURL(/#\/data\/Todo$/);
    expect((await duet.json('GET', `/todos/${todo.id}`)).status).toBe(404);
    await here.go('#/data/User/record/1');
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('button', { name: 'Delete it' }).click();
    await page.getByRole('dialog').getByRole('alert').filter({ hasText: 'It cannot be deleted' }).waitFor();
    expect(here.complaints).toEqual([]);
  });

  test('download: what is filtered, in its order', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    await here.go('#/data/Item?quantity[gte]=58&sort=-quantity');
    await page.getByText('Thing 60').waitFor();
    for (const [label, name, begins] of [
      ['CSV', 'items.csv', /^id,name,price,quantity\r\n\d+,Thing 60,/],
      ['NDJSON', 'items.ndjson', /^\{"id":\d+,"name":"Thing 60"/],
    ] as const) {
      const started = page.waitForEvent('download');
      await page.getByRole('button', { name: `Download as ${label}`, exact: true }).click();
      const download = await started;
      expect(download.suggestedFilename()).toBe(name);
      const text = await Bun.file(await download.path()).text();
      expect(text).toMatch(begins);
      expect(text.match(/Thing/g)?.length).toBe(3);
      await page.getByLabel('What to show').selectOption(label);
      const cost = page.getByRole('article', { name: 'REST' }).locator('.cost');
      await cost.filter({ hasText: ` ms · ${text.length} B · ` }).waitFor();
    }
    expect(here.complaints).toEqual([]);
  });

  test('both doors: the command and the operation ask for what is on the screen', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    await here.go('#/data/Post?author.name[eq]=Ada%20Lovelace&sort=-title');
    const dock = page.getByRole('region', { name: 'REST and GraphQL' });
    await dock.getByText('Both have the same records.').waitFor();
    // On a busy machine a read of SQLite may be handed to another process, and then counts once more.
    const taken = database === 'sqlite' ? '[2-9] statements' : '1 statement';
    const cost = new RegExp(`^[\\d.]+ ms · [\\d.]+ K?B · ${taken}$`);
    const rest = dock.getByRole('article', { name: 'REST' });
    const graphql = dock.getByRole('article', { name: 'GraphQL' });
    for (const side of [rest, graphql]) await side.locator('.cost', { hasText: cost }).waitFor();
    // Their heads have one line each, with all of it in sight.
    const heads = await dock
      .locator('article header')
      .evaluateAll((each: any[]) =>
        each.map((head) => [
          head.clientHeight,
          ...[...head.children].map((part) => part.scrollWidth - part.clientWidth),
        ]),
      );
    expect(heads.map(([height]) => height)).toEqual([heads[0]?.[0], heads[0]?.[0]]);
    expect(heads.flatMap(([, ...hidden]) => hidden.filter((hides: number) => hides > 0))).toEqual([]);
    const titles = () => page.locator('tbody td:first-child').allTextContents();
    const shown = await titles();
    await rest.getByRole('button', { name: 'Copy curl' }).click();
    const rows = await (await fetchCurl(await page.evaluate('navigator.clipboard.readText()'))).json();
    expect((rows as any[]).map(({ title }) => title)).toEqual(shown);
    await graphql.getByRole('button', { name: 'Copy curl' }).click();
    const { data } = (await (
      await fetchCurl(await page.evaluate('navigator.clipboard.readText()'))
    ).json()) as any;
    expect(data.postsConnection.edges.map(({ node }: any) => node.title)).toEqual(shown);

    // Through the other door, the same screen.
    await page.getByRole('radio', { name: 'GraphQL' }).check();
    await dock.getByText('Both have the same records.').waitFor();
    await shows(titles, shown);
    await here.go('#/data/Todo/new');
    await page.getByLabel('title').fill("It's done");
    await page.getByRole('switch', { name: 'done' }).check();
    await rest.getByText('"done":true').waitFor();
    const create = (await rest.locator('pre').textContent()) ?? '';
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { name: "It's done" }).waitFor();
    const again = (await (await fetchCurl(create)).json()) as any;
    expect(again).toMatchObject({ title: "It's done", done: true });
    expect(await duet.json('GET', `/todos/${again.id - 1}`)).toMatchObject({
      title: "It's done",
      done: true,
    });
    expect(here.complaints).toEqual([]);
  });
});
