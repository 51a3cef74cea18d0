/** How things are found: a search box for every table, filters with the inputs of forms, saved views, the palette and the keys. */

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { browsing, service, shows, visit } from './browser.ts';

const sdl = `
enum Kind { RAW DONE OLD }
type Owner @resource { id: ID! name: String! things: [Thing!]! }
type Thing @resource {
  id: ID!
  title: String!
  note: String
  count: Int
  day: Date
  at: DateTime
  kind: Kind
  owner: Owner
}
type Count @resource { id: ID! of: Int }
type Tea @resource @search(fields: ["name", "about"]) { id: ID! name: String! about: String }
type Mutation { tidy: Int @action }`;

const logic = 'export default { Mutation: { tidy: () => 1 } };';

const data = {
  owners: [{ name: 'Ada' }, { name: 'Zoe' }],
  counts: [{ of: 7 }, { of: 8 }],
  teas: [
    ...['Black', 'Cold', 'Dry', 'Earl'].map((name) => ({ name, about: 'With green leaves' })),
    { name: 'Green tea', about: null },
  ],
  things: Array.from({ length: 40 }, (_, at) => ({
    title: `Thing ${at + 1}`,
    note: at % 20 === 4 ? 'Rusty and round' : null,
    count: at,
    day: `2024-01-${String(1 + (at % 28)).padStart(2, '0')}`,
    at: `2024-01-01T00:${String(at).padStart(2, '0')}:00.000Z`,
    kind: ['RAW', 'DONE', 'OLD'][at % 3],
    ownerId: 1 + (at % 2),
  })),
};

// On both databases the answers are the same, and data.test.ts shows that what is made of them is.
browsing('finding, on postgres', () => {
  let duet: Awaited<ReturnType<typeof service>>;
  beforeAll(async () => {
    duet = await service('postgres', { sdl, data, logic });
  });
  afterAll(() => duet.end());

  test('one box searches a table, in all of its texts and by its key; a view is saved under a name', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    await here.go('#/data/Thing?count[lt]=20');
    await page.getByText('Thing 1', { exact: true }).waitFor();
    const names = () => page.locator('tbody td:first-child').allTextContents();
    for (const door of ['REST', 'GraphQL']) {
      await page.getByRole('radio', { name: door }).check();
      for (const [text, found] of [
        ['rusty', ['Thing 5']],
        ['17', ['Thing 17']],
      ] as const) {
        // While somebody types.
        await page.getByRole('searchbox').fill(text);
        await shows(names, [...found]);
        await page.waitForURL(new RegExp(`count\\[lt\\]=20&_find=${text}$`));
      }
    }
    // However many words were tried, one step leads back to all of them.
    await page.goBack();
    await page.waitForURL(/count\[lt\]=20$/);
    await shows(() => page.getByRole('searchbox').inputValue(), '');
    await page.goForward();
    await shows(names, ['Thing 17']);
    const views = page.getByRole('form', { name: 'Views' });
    await page.getByRole('button', { name: 'Views' }).click();
    await views.waitFor();
    await page.keyboard.press('Escape');
    await views.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Views' }).click();
    await page.getByLabel('Name of this view').fill('Seventeen');
    // What is typed there stays, whatever else is looked at before it is saved.
    await page.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('button', { name: 'Views' }).click();
    expect(await page.getByLabel('Name of this view').inputValue()).toBe('Seventeen');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('link', { name: 'Seventeen' }).waitFor();
    // A name that is there already says what saving does.
    await page.getByText('It stays in this browser').waitFor();
    await page.getByLabel('Name of this view').fill('Seventeen ');
    await page.getByRole('button', { name: 'Replace' }).click();
    await page.getByRole('button', { name: 'Save' }).waitFor();
    expect(await page.getByRole('link', { name: 'Seventeen' }).count()).toBe(1);
    await here.go('#/data/Thing?sort=-count');
    await page.reload();
    await page.getByRole('link', { name: 'Thing 40' }).waitFor();
    await page.getByRole('button', { name: 'Views' }).click();
    await page.getByRole('link', { name: 'Seventeen' }).click();
    await shows(names, ['Thing 17']);
    expect(here.complaints).toEqual([]);
  });

  test('of a list that changes while it is pressed, what was pressed is chosen', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    await here.go('#/data/Thing');
    await page.getByText('Thing 1', { exact: true }).waitFor();
    await page.keyboard.press('f');
    await page.getByLabel('Field').selectOption('ownerId');
    const input = page.getByRole('combobox', { name: 'Value' });
    const found = page.getByRole('option', { name: /^(Ada|Zoe) \d$/ });
    await input.click();
    await shows(() => found.count(), 2);
    const looking = Promise.withResolvers<void>();
    await page.route(/\/owners\?.*zo/, async (route) => {
      await looking.promise;
      await route.continue();
    });
    await input.pressSequentially('zo');
    await found.nth(1).hover();
    await page.mouse.down();
    looking.resolve();
    // Narrowed, or closed.
    await shows(() => found.count().then((count) => count < 2), true);
    await page.mouse.up();
    await shows(() => input.inputValue(), 'Zoe');
    expect(here.complaints).toEqual([]);
  });

  test('filters have the inputs of forms, and what is wrong stays in the open panel', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    await here.go('#/data/Thing');
    await page.getByText('Thing 1', { exact: true }).waitFor();
    await page.keyboard.press('f');
    await page.getByLabel('Field').selectOption('ownerId');
    await page.getByRole('combobox', { name: 'Value' }).pressSequentially('zo');
    await page.getByRole('option', { name: 'Zoe' }).click();
    await page.getByRole('button', { name: 'Condition', exact: true }).click();
    await page.getByLabel('Field').last().selectOption('day');
    await page.getByLabel('Value').last().fill('2024-01-02');
    await page.getByRole('button', { name: 'Apply' }).click();
    const names = () => page.locator('tbody td:first-child').allTextContents();
    await shows(names, ['Thing 2', 'Thing 30']);
    await page.waitForURL(/ownerId\[eq\]=2&day\[eq\]=2024-01-02/);

    await page.keyboard.press('f');
    await page.getByLabel('Field').last().selectOption('count');
    await page.getByLabel('Value').last().fill('many');
    await page.getByRole('button', { name: 'Apply' }).click();
    const panel = page.getByRole('form', { name: 'Filter' });
    await panel.getByRole('alert').filter({ hasText: 'count' }).waitFor();
    // Each by itself, in the words of the panel.
    await page.getByRole('button', { name: 'Condition', exact: true }).click();
    await page.getByLabel('Field').last().selectOption('day');
    await page.getByLabel('Operator').last().selectOption('gte');
    await page.getByRole('button', { name: 'Apply' }).click();
    await shows(() => panel.getByRole('alert').getByRole('listitem').count(), 2);
    await panel.getByRole('alert').getByText('day must be a calendar day').waitFor();
    // On a telephone nothing of it is beyond the edge.
    await page.setViewportSize({ width: 360, height: 740 });
    for (const each of await panel.locator('button, input, select').all()) {
      const { x = 0, width = 0 } = (await each.boundingBox()) ?? {};
      expect(x + width).toBeLessThanOrEqual(344);
    }
    await page.setViewportSize({ width: 1280, height: 800 });
    await panel.getByRole('button', { name: 'Remove' }).last().click();
    // What was wrong is another condition by now.
    expect(await panel.getByRole('alert').count()).toBe(0);
    expect(await page.getByLabel('Value').last().inputValue()).toBe('many');
    await page.getByLabel('Value').last().fill('29');
    await page.getByRole('button', { name: 'Apply' }).click();
    await shows(names, ['Thing 30']);
    await page.keyboard.press('f');
    // Records have no order.
    expect(await page.getByLabel('Operator').first().locator('option').allTextContents()).toEqual([
      'is',
      'is not',
      'is one of',
      'is null',
    ]);
    // As JSON, what is wrong is told of the filter, and of its text.
    await page.getByRole('button', { name: 'Edit as JSON' }).click();
    const json = panel.getByRole('textbox');
    const before = await json.inputValue();
    for (const [text, why] of [
      ['{"foo":{"eq":1}}', '"foo" is no field of Thing. There are: id, title, note,'],
      ['{"count":', 'This is not JSON: '],
    ] as const) {
      await json.fill(text);
      await page.getByRole('button', { name: 'Apply' }).click();
      await panel.getByRole('alert').getByText(why).waitFor();
    }
    // It is no filter that the builder could show.
    await page.getByRole('button', { name: 'Use the builder' }).click();
    await json.fill(before);
    await page.getByRole('button', { name: 'Use the builder' }).click();
    // The values of an enum are ticked.
    await page.getByLabel('Field').last().selectOption('kind');
    await page.getByLabel('Operator').last().selectOption('in');
    await panel.getByRole('checkbox', { name: 'RAW' }).uncheck();
    for (const kind of ['OLD', 'DONE']) await panel.getByRole('checkbox', { name: kind }).check();
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.waitForURL(/kind\[in\]=DONE,OLD/);
    await shows(async () => (await names()).slice(0, 3), ['Thing 2', 'Thing 6', 'Thing 8']);
    expect(here.complaints).toEqual([]);
  });

  test('the palette leads to types, records, actions and pages, and keys do what they say', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    const { keyboard } = page;
    const summon = () => keyboard.press('Control+k');
    // What is typed before it is there for the first time is in it.
    const fetching = Promise.withResolvers<void>();
    await page.route('**/opened-*.js', async (route) => {
      await fetching.promise;
      await route.continue();
    });
    await here.go('#/data/Thing');
    await page.getByText('Thing 1', { exact: true }).waitFor();
    await summon();
    await keyboard.type('own');
    fetching.resolve();
    await shows(() => page.locator('input.palette').inputValue(), 'own');
    await page.getByRole('option', { name: 'Owner' }).first().waitFor();
    await keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Owner' }).waitFor();
    await page.getByText('Zoe').waitFor();
    await keyboard.press('n');
    await page.getByRole('heading', { name: 'New Owner' }).waitFor();
    await summon();
    // It stays where it is, however little is found.
    const top = async () => (await page.getByRole('dialog').boundingBox())?.y;
    const before = await top();
    await keyboard.type('zoe');
    await page.getByRole('option', { name: 'Zoe' }).waitFor();
    expect(await top()).toBe(before);
    await keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Zoe' }).waitFor();
    // As the search of the type finds them, in its order; as many as there is room for.
    await summon();
    await keyboard.type('green');
    const teas = page.getByRole('option').filter({ hasText: /Tea \d/ });
    await shows(() => teas.count(), 5);
    expect(await teas.first().textContent()).toContain('Green tea');
    await keyboard.press('Escape');
    // By the beginnings of words, in whatever order.
    for (const [words, name] of [
      ['17 thi', 'Thing 17'],
      ['thi imp', 'Import into Thing'],
      ['tid', 'tidy action'],
      ['sta slo', 'Slow statements operate'],
      ['graphiq', 'GraphiQL tool'],
    ] as const) {
      await summon();
      await keyboard.type(words);
      await page.getByRole('option', { name }).waitFor();
      await keyboard.press('Escape');
    }
    // Where there are more than are shown, it leads to all of them.
    await summon();
    await keyboard.type('thing 1');
    await page.getByRole('option', { name: 'More things with “thing 1”' }).click();
    await page.waitForURL(/#\/data\/Thing\?_find=thing%201$/);
    await summon();
    await keyboard.type('import into t');
    await keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Import into Thing' }).waitFor();
    await here.go('#/data/Owner');
    await page.getByText('Zoe').waitFor();
    // What the page can do is found there too.
    for (const [words, key] of [
      ['filter', 'this page, f'],
      ['theme dark', 'setting'],
    ] as const) {
      await summon();
      await keyboard.type(words);
      await page.getByRole('option').filter({ hasText: key }).waitFor();
      await keyboard.press('Enter');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
    }
    await page.getByRole('button', { name: 'Filter', expanded: true }).waitFor();
    await shows(() => page.getByLabel('Theme').inputValue(), 'dark');
    await keyboard.press('Escape');
    // One stop of Tab, however many rows there are: the arrows go through them.
    expect(await page.locator('td a:not([tabindex="-1"])').count()).toBe(0);
    await keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).getByText('search the table').waitFor();
    await keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await keyboard.press('/');
    // Keys are letters where one types.
    await keyboard.type('nf');
    await shows(() => page.getByRole('searchbox').inputValue(), 'nf');
    // What has no text is found by its key, and by nothing else.
    await here.go('#/data/Count');
    await keyboard.press('/');
    await keyboard.type('2');
    await shows(() => page.locator('tbody tr').count(), 1);
    await keyboard.press('ArrowDown');
    await shows(() => page.evaluate('document.activeElement.parentElement.ariaRowIndex'), '2');
    await page.getByRole('searchbox').fill('x');
    await page.getByText('No matches').waitFor();
    expect(here.complaints).toEqual([]);
  });
});
