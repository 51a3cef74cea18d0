/** The history of a record: what has changed, and the way back, through both doors. */

import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Locator, Page } from 'playwright-core';
import { headersOf, SECRET } from '../conformance/access-matrix.ts';
import { browsing, service, shows, visit } from './browser.ts';

const sdl = `
type Author @resource { id: ID! name: String! }
type Book @resource @journal(keep: "forever") {
  id: ID!
  title: String!
  pages: Int
  tags: [String!]! @default(value: [])
  author: Author
  changed: DateTime! @updatedAt
}
`;
/** The rows of its table, each as one text. */
function cellsOf(element: Locator): Promise<string[]> {
  return element
    .locator('tbody tr')
    .evaluateAll((rows) => rows.map((row: any) => [...row.cells].map((cell) => cell.textContent).join(' ')));
}

const data = {
  authors: [{ id: 1, name: 'Frank Herbert' }],
  books: [{ title: 'The imported book', tags: ['old'] }],
};

// On both databases the answers are the same, and data.test.ts shows that what is made of them is.
browsing('on sqlite', () => {
  let duet: Awaited<ReturnType<typeof service>>;
  beforeAll(async () => {
    duet = await service('sqlite', { sdl, data });
  });
  afterAll(() => duet.end());

  test('what others write is seen while one looks, in the list and in the record, and no box that was ticked is lost', async () => {
    const { id } = await duet.json('POST', '/books', { title: 'Live', pages: 1 });
    await using here = await visit(duet.url);
    const { page } = here;
    const live = page.getByText('Live', { exact: true }).and(page.locator('.tag'));
    const refresh = page.getByRole('button', { name: 'Refresh' });
    await here.go('#/data/Author');
    await page.getByText('Frank Herbert').waitFor();
    await refresh.waitFor();
    await here.go('#/data/Book?sort=-id');
    await live.waitFor();
    expect(await refresh.count()).toBe(0);
    await page.getByRole('checkbox', { name: 'Select Live' }).check();
    await duet.json('POST', '/books', { title: 'Also', pages: 2 });
    await page.getByRole('link', { name: 'Also', exact: true }).waitFor();
    await page.getByText('1 row selected').waitFor();
    // A cell that is being edited is left alone, until it is not.
    await page.getByRole('row', { name: 'Live' }).getByRole('gridcell', { name: '1', exact: true }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('form', { name: 'Edit pages' }).waitFor();
    await duet.json('PUT', `/books/${id}`, { title: 'Written elsewhere' });
    await page.keyboard.type('7');
    await page.keyboard.press('Enter');
    await page.getByText('Saved pages').waitFor();
    await page.getByRole('link', { name: 'Written elsewhere', exact: true }).waitFor();
    expect(await duet.json('GET', `/books/${id}`)).toMatchObject({ title: 'Written elsewhere', pages: 7 });
    await page.getByText('1 row selected').waitFor();

    await here.go(`#/data/Book/record/${id}`);
    await live.waitFor();
    await duet.json('PUT', `/books/${id}`, { title: 'Another title' });
    await page.getByRole('heading', { name: 'Another title' }).waitFor();
    await duet.json('DELETE', `/books/${id}`);
    await page.getByText(`There is no Book ${id}`).waitFor();
    expect(here.complaints).toEqual([]);
  });

  test.each(['REST', 'GraphQL'])(
    'a form hears of what others write while one types, through %s',
    async (door) => {
      const { id } = await duet.json('POST', '/books', { title: 'Opened', pages: 1 });
      await using here = await visit(duet.url);
      const { page } = here;
      await here.go('#/data/Author');
      await page.getByRole('radio', { name: door }).check();
      await here.go(`#/data/Book/record/${id}/edit`);
      const [title, pages] = [page.locator('#field-title'), page.locator('#field-pages')];
      await title.waitFor();
      // Where nobody has typed, the form is what the record is.
      await duet.json('PUT', `/books/${id}`, { title: 'Of another' });
      await shows(() => title.inputValue(), 'Of another');
      await page.getByRole('status').filter({ hasText: 'Somebody else has changed this record' }).waitFor();
      // What was typed stays, and it is told before it is saved.
      await title.fill('Mine');
      await duet.json('PUT', `/books/${id}`, { title: 'Theirs', pages: 2 });
      const news = page
        .getByRole('alert')
        .filter({ hasText: 'Somebody has changed title, pages meanwhile.' });
      await news.waitFor();
      expect([await title.inputValue(), await pages.inputValue()]).toEqual(['Mine', '1']);
      await news.getByRole('button', { name: 'Compare' }).click();
      await shows(
        () => cellsOf(page.locator('.conflict')),
        ['title Of another  Mine  Theirs', 'pages 1 not changed 2'],
      );
      await page.getByRole('button', { name: 'Save selected values' }).click();
      await page.getByRole('heading', { name: 'Mine' }).waitFor();
      expect(await duet.json('GET', `/books/${id}`)).toMatchObject({ title: 'Mine', pages: 2 });
      await here.go(`#/data/Book/record/${id}/edit`);
      await title.fill('In vain');
      await duet.json('DELETE', `/books/${id}`);
      await page
        .getByRole('alert')
        .filter({ hasText: 'Somebody has deleted this record meanwhile.' })
        .waitFor();
      expect(await title.inputValue()).toBe('In vain');
      expect(here.complaints).toEqual([]);
    },
  );

  test.each(['REST', 'GraphQL'])('what has changed is told, and taken back, through %s', async (door) => {
    const { id } = await duet.json('POST', '/books', { title: 'Dune', pages: 412 });
    await duet.json('PUT', `/books/${id}`, { pages: 896, authorId: 1 });
    await using here = await visit(duet.url);
    const { page } = here;
    await here.go(`#/data/Book/record/${id}`);
    await page.getByRole('radio', { name: door }).check();
    await page.getByRole('link', { name: 'History' }).click();
    const entries = page.locator('ol.history > li');
    const heads = () => entries.locator('h2').allTextContents();
    // What the service sets is told of what was, and is no part of what a restore would change.
    const isSet = (row: string) => row.startsWith('changed 20');
    const rows = async (at: number) => (await cellsOf(entries.nth(at))).filter((row) => !isSet(row));
    await shows(heads, ['UPDATED version 2', 'CREATED version 1']);
    await page.getByRole('heading', { name: 'History of Dune' }).waitFor();
    // What it refers to has a name, and its key when one points at it.
    await shows(() => rows(0), ['pages 412 896', 'author null Frank Herbert']);
    expect(await entries.first().getByRole('link', { name: 'Frank' }).getAttribute('title')).toBe('Author 1');
    expect((await cellsOf(entries.first())).filter(isSet)).toHaveLength(1);
    await shows(() => rows(1), [`id ${id}`, 'title Dune', 'pages 412', 'tags none', 'author null']);
    await page.getByText('Both have the same records.').waitFor();
    await entries.first().getByText('current').waitFor();
    expect(await entries.first().getByRole('button').count()).toBe(0);

    // Nothing is done before somebody has seen what it does, and said so.
    const dialog = page.getByRole('dialog', { name: `Restore Book ${id}?` });
    await page.getByRole('button', { name: 'Restore version 1' }).click();
    await shows(() => cellsOf(dialog), ['pages 896 412', 'author Frank Herbert null']);
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect((await duet.json('GET', `/books/${id}`)).pages).toBe(896);
    await page.getByRole('button', { name: 'Restore version 1' }).click();
    await dialog.getByRole('button', { name: 'Restore it' }).click();
    await shows(heads, ['UPDATED version 3', 'UPDATED version 2', 'CREATED version 1']);
    expect(await duet.json('GET', `/books/${id}`)).toMatchObject({ pages: 412, authorId: null });
    await page.getByLabel('What to show').selectOption('Last change');
    const article = page.getByRole('article', { name: door });
    await article
      .locator('pre', { hasText: door === 'REST' ? `/books/${id}/restore` : 'restoreBook' })
      .waitFor();
    await article.locator('.cost', { hasText: /statements?$/ }).waitFor();

    // What was deleted is found by its address, and comes back under its key.
    await here.go(`#/data/Book/record/${id}`);
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByText('You can bring it back for as long as the history is kept.').waitFor();
    await page.getByRole('button', { name: 'Delete it' }).click();
    await page.waitForURL(/#\/data\/Book$/);
    await here.go(`#/data/Book/record/${id}`);
    await page.getByText(`There is no Book ${id}`).waitFor();
    await page.getByText('If it was deleted, its history can bring it back.').waitFor();
    await page.getByRole('link', { name: 'History' }).click();
    await shows(async () => (await heads())[0], 'DELETED version 3');
    await shows(
      () => entries.getByRole('button').evaluateAll((all) => all.map((each: any) => each.ariaLabel)),
      ['Restore version 3', 'Restore version 3', 'Restore version 2', 'Restore version 1'],
    );
    await page.getByRole('button', { name: 'Restore version 2' }).click();
    await dialog.getByRole('button', { name: 'Restore it' }).click();
    await shows(async () => (await heads())[0], 'CREATED again, version 4');
    await entries.first().getByText('current').waitFor();
    // What is stored already is not offered.
    expect(await page.getByRole('button', { name: 'Restore version 2' }).count()).toBe(0);
    expect(await duet.json('GET', `/books/${id}`)).toMatchObject({ pages: 896, authorId: 1 });
    expect(here.complaints).toEqual([]);
  });

  test('what was there before the journal can be restored; a type without one has no history', async () => {
    await duet.json('PUT', '/books/1', { title: 'The imported tome', tags: [] });
    await using here = await visit(duet.url);
    const { page } = here;
    await here.go('#/data/Book/record/1/history');
    const entries = page.locator('ol.history > li');
    await shows(() => entries.locator('h2').allTextContents(), ['UPDATED version 2', 'version 1']);
    // Of a text, the words that differ; then when that was.
    const marked = await entries.locator('del, ins').allTextContents();
    expect(marked.slice(0, 4)).toEqual(['book', 'tome', 'old', 'none']);
    expect(marked.slice(4)).toEqual([expect.stringContaining(' UTC'), expect.stringContaining(' UTC')]);
    await page.getByRole('button', { name: 'Restore version 1' }).click();
    await page.getByRole('button', { name: 'Restore it' }).click();
    await shows(async () => (await duet.json('GET', '/books/1')).title, 'The imported book');
    await here.go('#/data/Author/record/1');
    await page.getByRole('heading', { name: 'Frank Herbert' }).waitFor();
    expect(await page.getByRole('link', { name: 'History' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByText('This cannot be undone.').waitFor();
    expect(here.complaints).toEqual([]);
  });
});

// Who may see what of the past is held below both doors on both databases; what the console makes of it is the same on each.
browsing('callers', () => {
  const ruled = `
type Note @resource @journal
  @allow(to: [READ, CREATE, UPDATE, DELETE], role: "authenticated")
  @allow(to: [HISTORY], role: "keeper")
{ id: ID! text: String! }
`;
  let duet: Awaited<ReturnType<typeof service>>;
  beforeAll(async () => {
    duet = await service('sqlite', { sdl: ruled, data: {}, env: { AUTH_SECRET: SECRET } });
  });
  afterAll(() => duet.end());

  const bearer = async (sub: string, ...roles: string[]) =>
    (await headersOf({ name: `history ${sub}`, claims: { sub, roles } }))['Authorization'] ?? '';

  const become = async (page: Page, who: string) => {
    await page
      .getByRole('banner')
      .getByRole('button', { name: /^(Sign in|Account)/ })
      .click();
    const dialog = page.getByRole('dialog');
    const another = dialog.getByText('Sign in as somebody else');
    if ((await another.count()) > 0) await another.click();
    await dialog.getByLabel('Token').fill(who.replace('Bearer ', ''));
    await dialog.getByRole('button', { name: 'Sign in' }).click();
    await dialog.waitFor({ state: 'detached' });
  };

  test('who may not see the past is told so', async () => {
    const ann = await bearer('ann');
    const write = (method: string, path: string, text: string) =>
      fetch(duet.url + path, {
        method,
        headers: { 'Content-Type': 'application/json', Authorization: ann },
        body: JSON.stringify({ text }),
      });
    await write('POST', '/notes', 'one');
    await write('PUT', '/notes/1', 'two');
    await using here = await visit(duet.url);
    const { page } = here;
    await here.go('');
    await become(page, ann);
    await page.evaluate("location.hash = '#/data/Note/record/1/history'");
    for (const door of ['REST', 'GraphQL']) {
      await page.getByRole('radio', { name: door }).check();
      await page.getByText('There is no history to show').waitFor();
      await page.getByText('Both have the same records.').waitFor();
    }
    await become(page, await bearer('kim', 'keeper'));
    await shows(
      () =>
        page
          .locator('ol.history > li header > .quiet:nth-child(2)')
          .allTextContents()
          .then((all) => all.map((each) => each.replace(/^.*, /, ''))),
      ['by ann', 'by ann'],
    );
    await page.getByRole('button', { name: 'Restore version 1' }).waitFor();
    // Who was faster is known, and when.
    await here.go('#/data/Note/record/1/edit');
    await page.getByRole('textbox', { name: 'text' }).fill('of kim');
    await write('PUT', '/notes/1', 'three');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText(/ann has changed this record since you opened it, at 20[\d: .-]+ UTC\. /).waitFor();
    expect(here.complaints).toEqual([]);
  });

  test('History, and the way back from a delete, are offered to those who may look back', async () => {
    const [ann, kim] = [await bearer('ann'), await bearer('kim', 'keeper')];
    const { id }: any = await (
      await fetch(`${duet.url}/notes`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', Authorization: ann },
        body: '{"text":"Kept"}',
      })
    ).json();
    await using here = await visit(duet.url);
    const { page } = here;
    await here.go('');
    const past = page.getByRole('main').getByRole('link', { name: 'History' });
    for (const [who, may] of [
      [ann, false],
      [kim, true],
    ] as const) {
      await become(page, who);
      await page.evaluate(`location.hash = '#/data/Note/record/${id}'`);
      await page.getByRole('button', { name: 'Delete' }).click();
      const undone = may ? 'You can bring it back' : 'This cannot be undone.';
      await page.getByRole('dialog').getByText(undone).waitFor();
      expect(await past.count()).toBe(may ? 1 : 0);
      await page.getByRole('button', { name: 'Cancel' }).click();
      // One that is gone has its past, too.
      await page.evaluate("location.hash = '#/data/Note/record/99'");
      await page.getByText('There is no Note 99').waitFor();
      expect(await past.count()).toBe(may ? 1 : 0);
      expect(await page.getByText('its history can bring it back').count()).toBe(may ? 1 : 0);
    }
    expect(here.complaints).toEqual([]);
  });
});
