/** A form with changes is left only by those who say so; through both doors. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { browsing, service, shows } from './browser.ts';
import {
  between,
  type Editing,
  editing,
  onBoth,
  openBetween,
  question,
  shareOf,
  thing,
  things,
} from './things.ts';

const focused = (page: Page) =>
  page.evaluate('document.activeElement.id || document.activeElement.textContent');

/** Once the address is that of the form again, and the page was told so, which comes a moment later. */
async function back(page: Page, form: string): Promise<void> {
  await shows(() => page.evaluate('location.hash'), form);
  await page.evaluate('new Promise((told) => setTimeout(told, 100))');
}

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
  Forward: { leave: (page) => page.evaluate('history.forward()'), to: /#\/data\/Tag$/ },
  'another address': {
    leave: (page) => page.evaluate("location.hash = '#/operate/metrics'"),
    to: /#\/operate\/metrics$/,
  },
};

browsing.each(onBoth)('leaving, through %s on %s', (door, database) => {
  let duet: Awaited<ReturnType<typeof service>>;
  beforeAll(async () => {
    duet = await service(database, things);
  });
  afterAll(() => duet.end());

  test('what is asked while the last question is answered is shown', async () => {
    await using here = await between(duet, door);
    const { page } = here;
    await here.input('nick').fill('typed');
    await page.evaluate(`addEventListener('keydown', ({ key }) =>
      key === 'Escape' && queueMicrotask(() => document.querySelector('nav a[href="#/data/Tag"]').click()))`);
    await page.locator('a.brand').click();
    await shows(() => focused(page), 'Keep editing');
    await page.keyboard.press('Escape');
    await question(page).getByRole('button', { name: 'Discard changes' }).click();
    await page.waitForURL(/#\/data\/Tag$/);
    expect(here.complaints).toEqual([]);
  });

  describe('ways', () => {
    // One page for all of them: each begins with a form of its own.
    let here: Editing;
    beforeAll(async () => {
      here = await editing(duet.url, door, '#/data/Owner');
      // What is behind that way is a test of its own, and takes seconds to load.
      await here.page.route('**/_console/graphiql*', (route) => route.fulfill({ contentType: 'text/html' }));
    });
    afterAll(() => here[Symbol.asyncDispose]());

    test.each(shareOf(door, Object.keys(ways)))('%s asks before it takes changes along', async (name) => {
      const { leave, to } = ways[name] as (typeof ways)[string];
      const { form } = await openBetween(duet, here);
      const { page } = here;
      await here.input('nick').fill('typed');
      for (const keep of ['Enter', 'Escape']) {
        await leave(page);
        await question(page).waitFor();
        await shows(() => focused(page), 'Keep editing');
        await page.keyboard.press(keep);
        await question(page).waitFor({ state: 'detached' });
        await back(page, form);
        expect(await here.input('nick').inputValue()).toBe('typed');
      }
      await leave(page);
      await question(page).getByRole('button', { name: 'Discard changes' }).click();
      await page.waitForURL(to);
      await question(page).waitFor({ state: 'detached' });
      await here.input('nick').waitFor({ state: 'detached' });
      expect(here.sent).toEqual([]);
      expect(here.complaints).toEqual([]);
    });

    test.each(['a click in the sidebar', 'Back', 'Forward'])(
      '%s asks nothing when nothing is changed',
      async (name) => {
        const { leave, to } = ways[name] as (typeof ways)[string];
        await openBetween(duet, here);
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
  });

  test('who keeps editing is where they were, and Back and Forward lead where they did', async () => {
    await using here = await between(duet, door);
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
      await back(page, form);
      await shows(() => focused(page), 'field-amount');
    }
    await here.save();
    expect(here.sent).toEqual([{ nick: 'typed' }]);
    await page.goBack();
    await page.waitForURL((url) => url.href.endsWith(form));
    await page.goBack();
    await page.waitForURL(ways['Back']?.to ?? '');
  });

  test('a link to where one is, and a reload, leave the way back as it was', async () => {
    await using here = await editing(duet.url, door, '#/operate/metrics');
    const { page } = here;
    const form = `#/data/Thing/record/${(await duet.json('POST', '/things', thing)).id}/edit`;
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
      await back(page, form);
    }
    await page.evaluate('history.back()');
    await question(page).getByRole('button', { name: 'Discard changes' }).click();
    await page.waitForURL(/#\/data\/Owner$/);
    await page.goBack();
    await page.waitForURL(/#\/operate\/metrics$/);
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
    await shows(() => here.input('ownerId').inputValue(), 'Ada');
    await here.go('#/data/Thing/new?ownerId=2');
    await shows(() => here.input('ownerId').inputValue(), 'Grace');
  });

  test('a reload, and the closing of the tab, ask as browsers do', async () => {
    await using here = await between(duet, door);
    const { page } = here;
    const asked: string[] = [];
    let answer: 'accept' | 'dismiss' = 'dismiss';
    page.on('dialog', async (dialog) => {
      asked.push(dialog.type());
      await dialog[answer]();
    });
    await here.input('nick').focus();
    await page.keyboard.type('!');
    // Nobody waits for it: it does not come about.
    await page.evaluate('void setTimeout(() => location.reload())');
    await shows(() => asked, ['beforeunload']);
    expect(await here.input('nick').inputValue()).toBe('nick!');
    await page.close({ runBeforeUnload: true });
    await shows(() => asked.length, 2);
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
});
