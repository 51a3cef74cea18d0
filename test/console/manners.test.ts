/** Manners: the keyboard alone, axe, small and large windows, light and dark, on a schema it has never seen. */

import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Locator, Page } from 'playwright-core';
import { findings } from './axe.ts';
import { browsing, service, shows, visit } from './browser.ts';
import { museum } from './museum.ts';

/** Every kind of view, with nothing, little and much in it. */
const places = [
  '',
  '#/data/Exhibit',
  '#/data/Exhibit?stage[eq]=DONE&weight[gte]=3&count=true',
  '#/data/Exhibit?search=nowhere&sort=_relevance',
  '#/data/Nothing',
  '#/data/OrganisationForStandardisationDocumentReference',
  '#/data/Feedback',
  '#/data/Exhibit/record/1',
  '#/data/Exhibit/record/2',
  '#/data/Person/record/0190f5a0-7c1e-7a64-b3f5-000000000001',
  '#/data/Exhibit/record/999',
  '#/data/Exhibit/record/3/edit',
  '#/data/Exhibit/new',
  '#/data/Exhibit/import',
  '#/schema',
  '#/operate/metrics',
  '#/operate/keys',
  '#/operate/jobs',
  '#/operate/requests',
  '#/operate/access?role=none',
  '#/nowhere',
];

/** A view begins to ask after it was first painted: calm three times over is calm. */
async function settled(page: Page): Promise<void> {
  await page.getByRole('main').locator('h1, .empty').first().waitFor();
  await page.evaluate(`new Promise((done) => {
    let calm = 0;
    const look = () => {
      calm = document.querySelector('main[aria-busy="true"]') ? 0 : calm + 1;
      if (calm === 3) done();
      else setTimeout(look, 25);
    };
    look();
  })`);
  await page.getByRole('main').locator('h1, .empty:not([role="status"])').first().waitFor();
}

/** Places that are looked at: that they are there does not mean that anything can be seen. */
const pictured = ['', '#/data/Exhibit', '#/schema'];
/** A picture of one colour has fewer bytes. */
const BLANK = 16_000;

/** What may not be wider than it is shown: where it is, it covers what is beside it. */
const boxes =
  'html, main, .top, .card, .card h2, .card .tag, thead .head, .side a, .chips li, .figures, .notice';

browsing('manners', () => {
  let duet: Awaited<ReturnType<typeof service>>;
  beforeAll(async () => {
    duet = await service('sqlite', museum);
  });
  afterAll(() => duet.end());

  test('axe finds nothing serious, in light and in dark', async () => {
    await using here = await visit(duet.url, { colorScheme: 'light' });
    const { page } = here;
    const found: string[] = [];
    const look = async (place: string) => {
      for (const finding of await findings(page)) found.push(`${place} ${finding}`);
      await page.emulateMedia({ colorScheme: 'dark' });
      // In the dark nothing else is there than in the light: it has other colours.
      for (const finding of await findings(page, ['color-contrast'])) found.push(`${place} dark ${finding}`);
      await page.emulateMedia({ colorScheme: 'light' });
    };
    for (const place of places) {
      await here.go(place);
      await settled(page);
      if (place.endsWith('Exhibit')) await page.getByRole('button', { name: 'Filter' }).click();
      await look(place);
    }
    // What was typed is wrong, and somebody wants to leave.
    await here.go('#/data/Exhibit/new');
    await page.getByLabel('extra').fill('{');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByText('This is not JSON').waitFor();
    await look('what is wrong');
    await page.getByRole('link', { name: 'Cancel' }).click();
    await page.getByRole('dialog', { name: 'Discard changes?' }).waitFor();
    await look('a question');
    expect(found).toEqual([]);
    expect(here.complaints).toEqual([]);
  }, 180_000);

  test('axe finds nothing serious in what opens over a table and beside it', async () => {
    await using here = await visit(duet.url, { colorScheme: 'dark' });
    const { page } = here;
    const { keyboard } = page;
    const found: string[] = [];
    const look = async (what: string) =>
      found.push(...(await findings(page)).map((finding) => `${what} ${finding}`));
    await here.go('#/data/Exhibit');
    await settled(page);
    await page.getByRole('button', { name: 'Columns' }).click();
    await page.getByRole('button', { name: 'Move id to the left' }).waitFor();
    await look('columns');
    await page.getByRole('button', { name: 'Views' }).click();
    await page.getByLabel('Name of this view').waitFor();
    await page.getByRole('checkbox', { name: 'Select Exhibit 2', exact: true }).click();
    await look('views and selected rows');
    await page.getByRole('button', { name: 'Change…' }).click();
    await page.getByLabel('Field to change').selectOption('stage');
    await look('many');
    await keyboard.press('Escape');
    await page.locator('tr[aria-rowindex="3"] td').first().focus();
    await keyboard.press('Enter');
    await page.getByRole('form', { name: 'Edit title' }).waitFor();
    await look('cell');
    await keyboard.press('Escape');
    await keyboard.press('Control+k');
    await page.getByRole('option', { name: 'Museum' }).first().waitFor();
    await look('palette');
    await keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
    await look('keys');
    await here.go('#/data/Museum/import');
    await page
      .getByLabel('File to import')
      .setInputFiles({ name: 'm.csv', mimeType: 'text/csv', buffer: Buffer.from('name,opened\n,x\n') });
    await page.getByText('line 2, name: is required').waitFor();
    await look('import');
    expect(found).toEqual([]);
    expect(here.complaints).toEqual([]);
  });

  test.each([360, 768, 1280, 3840])('at %d px nothing sticks out', async (width) => {
    await using here = await visit(duet.url, { isDrawn: true, viewport: { width, height: 800 } });
    const { page } = here;
    for (const place of places) {
      await here.go(place);
      await settled(page);
      const wide = await page.evaluate(
        `[...document.querySelectorAll('${boxes}')]
          .filter((each) => each.scrollWidth > each.clientWidth && getComputedStyle(each).textOverflow !== 'ellipsis')
          .map((each) => each.outerHTML.slice(0, 100))`,
      );
      expect([place, wide]).toEqual([place, []]);
      // A fraction of a pixel too little, and a key ends in dots.
      const cut = await page.evaluate(`[...document.querySelectorAll('tbody .copy')].filter((each) => {
        const cell = each.parentElement;
        const end = cell.getBoundingClientRect().right - parseFloat(getComputedStyle(cell).paddingRight);
        return cell.classList.contains('id') && each.getBoundingClientRect().right > end;
      }).length`);
      expect([place, cut]).toEqual([place, 0]);
      if (!pictured.includes(place)) continue;
      const { byteLength } = await page.screenshot();
      expect([place, byteLength > BLANK]).toEqual([place, true]);
    }
    // On a telephone the list of places opens, leads somewhere, and closes.
    if (width > 760) return;
    await page.getByRole('button', { name: 'Menu' }).click();
    await page.getByRole('navigation', { name: 'Places' }).getByRole('link', { name: 'Museum' }).click();
    await page.getByRole('heading', { name: 'Museum', exact: true }).waitFor();
    await page.getByRole('link', { name: 'Person' }).waitFor({ state: 'hidden' });
  });

  test('on a telephone the panel is folded until it is opened there, whatever it was in a wide window', async () => {
    await using here = await visit(duet.url, { viewport: { width: 1280, height: 740 } });
    const { page } = here;
    await here.go('#/data/Exhibit');
    const panel = page.getByRole('region', { name: 'REST and GraphQL' });
    const fold = panel.getByRole('button', { name: 'REST and GraphQL' });
    const isOpen = (open: boolean) => shows(() => fold.getAttribute('aria-expanded'), String(open));
    await isOpen(true);
    await page.getByRole('button', { name: 'Columns' }).click();
    await page.getByRole('button', { name: 'Move id to the left' }).waitFor();
    // In a low window, what is open above the table has the room of the requests, of which nothing is left that would seem to be open.
    await shows(() => panel.count(), 0);
    await page.keyboard.press('Escape');
    // What a request took is not broken into letters where there is little room.
    await page.setViewportSize({ width: 1000, height: 740 });
    const cost = await page.getByRole('article', { name: 'GraphQL' }).locator('.cost').boundingBox();
    expect(cost?.width).toBeGreaterThan(100);
    await page.setViewportSize({ width: 360, height: 740 });
    await isOpen(false);
    await page.reload();
    await isOpen(false);
    await fold.click();
    await page.reload();
    await isOpen(true);
    const verdict = panel.getByText('Both have the same records.');
    await verdict.waitFor();
    expect(await verdict.evaluate((each: any) => each.scrollWidth <= each.clientWidth)).toBe(true);
    await page.setViewportSize({ width: 1280, height: 740 });
    await fold.click();
    await isOpen(false);
    await page.setViewportSize({ width: 360, height: 740 });
    await isOpen(true);
    await page.setViewportSize({ width: 1280, height: 740 });
  });

  test('a wrong address names the table of its type; on a telephone the diagram is as wide as the window, and its tools stand above it', async () => {
    await using here = await visit(duet.url, { viewport: { width: 360, height: 740 } });
    const { page } = here;
    await here.go('#/data/Museum/1');
    await page.getByRole('link', { name: 'All museums' }).click();
    await page.getByRole('heading', { name: 'Museum', exact: true }).waitFor();
    await here.go('#/schema');
    await page.getByRole('button', { name: 'Zoom in' }).waitFor();
    const tools = await page.locator('.diagram > .tools').boundingBox();
    const drawn = await page.locator('.diagram > svg').boundingBox();
    expect((tools?.y ?? 0) + (tools?.height ?? 0)).toBeLessThanOrEqual(drawn?.y ?? 0);
    const inside = () =>
      page
        .locator('.diagram .box')
        .evaluateAll((each: any[]) =>
          each.map((box) => box.getBoundingClientRect()).filter(({ left, right }) => left < 0 || right > 360),
        );
    await page.getByLabel('Show only').fill('hall');
    await page.locator('.diagram .box', { hasText: 'Museum' }).first().waitFor();
    await shows(async () => (await inside()).length, 0);
    expect(await page.locator('.diagram .box').count()).toBe(3);
    await page.getByLabel('Show only').fill('zzz');
    await page.getByText('No type has “zzz” in its name.').waitFor();
    // However many there are.
    await page.getByLabel('Show only').fill('');
    await page.getByRole('button', { name: 'Fit' }).click();
    const bottom = () =>
      page
        .locator('.diagram .box')
        .evaluateAll((each: any[]) => Math.max(...each.map((box) => box.getBoundingClientRect().bottom)));
    await shows(async () => (await bottom()) <= (drawn?.y ?? 0) + (drawn?.height ?? 0), true);
  });

  test('on a telephone a long word breaks in what opens over a view, and a conflict has both sides in sight', async () => {
    await using here = await visit(duet.url, { viewport: { width: 360, height: 740 } });
    const { page } = here;
    const inSight = (what: Locator) =>
      // What opens out of sight is scrolled to once it is painted.
      shows(async () => {
        const { x = -1, y = -1, width = 0, height = 0 } = (await what.boundingBox()) ?? {};
        const isWhole = await what.evaluate(
          (each: any) => each.scrollWidth <= each.clientWidth && each.scrollHeight <= each.clientHeight,
        );
        return isWhole && x >= 0 && x + width <= 360 && y >= 0 && y + height <= 740;
      }, true);
    const { id } = await duet.json('POST', '/halls', { name: 'x'.repeat(100), museumId: 1 });
    await here.go(`#/data/Hall/record/${id}`);
    await page.getByRole('button', { name: 'Delete' }).click();
    await inSight(page.getByRole('dialog'));

    await here.go('#/data/Exhibit/new');
    await page.getByRole('combobox', { name: 'keeper' }).pressSequentially('a');
    await page.getByRole('option', { name: 'Barbara' }).waitFor();
    await inSight(page.getByRole('listbox', { name: 'people' }));
    await page.keyboard.press('Escape');
    await page.getByRole('combobox', { name: 'hall' }).pressSequentially('xx');
    await page.getByRole('option', { name: 'xxx' }).waitFor();
    await inSight(page.getByRole('listbox', { name: 'halls' }));
    await page.getByRole('link', { name: 'Duet' }).click();
    await inSight(page.getByRole('dialog', { name: 'Discard changes?' }));
    await page.getByRole('button', { name: 'Discard changes' }).click();
    await page.getByRole('heading', { name: 'Resources' }).waitFor();

    await here.go(`#/data/Hall/record/${id}/edit`);
    await page.getByLabel('floor').fill('3');
    await duet.json('PUT', `/halls/${id}`, { floor: 4 });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Somebody has changed this record').waitFor();
    for (const side of ['yours', 'theirs'])
      await inSight(page.locator('td', { has: page.getByRole('radio', { name: `floor: ${side}` }) }));
    await duet.json('DELETE', `/halls/${id}`);
    expect(here.complaints).toEqual([]);
  });

  test('text of records is text', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    page.on('dialog', (dialog) => here.complaints.push(dialog.message()));
    for (const place of ['#/data/Exhibit', '#/data/Exhibit/record/1', '#/data/Exhibit/record/1/edit']) {
      await here.go(place);
      await settled(page);
      expect(await page.locator('main img').count()).toBe(0);
    }
    await page.getByRole('heading', { name: '<img src=x onerror=alert(1)>' }).waitFor();
    expect(here.complaints).toEqual([]);
  });

  test('what takes longer than half a second shows that it does', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    const slow = Promise.withResolvers<void>();
    await page.route('**/halls*', async (route) => {
      await slow.promise;
      await route.continue();
    });
    await here.go('#/data/Hall');
    await page.getByRole('progressbar').waitFor();
    slow.resolve();
    await page.getByText('Hall A').waitFor();
    await page.getByRole('progressbar').waitFor({ state: 'detached' });
  });

  test('the first screen is small, and everything else waits until it is opened', async () => {
    await using here = await visit(duet.url, { isFirst: true });
    const { page } = here;
    const fetched: string[] = [];
    page.on('response', (response) => fetched.push(new URL(response.url()).pathname));
    await here.go('');
    await settled(page);
    const sizes = (await page.evaluate(
      'performance.getEntries().map((entry) => [entry.name, entry.transferSize ?? 0])',
    )) as [string, number][];
    const sum = (of: RegExp) => sizes.reduce((all, [name, size]) => all + (of.test(name) ? size : 0), 0);
    expect(sum(/\.js$/)).toBeGreaterThan(10_000);
    expect(sum(/\.js$/)).toBeLessThan(32_500);
    expect(sum(/./)).toBeLessThan(240_000);
    expect(
      fetched.filter((path) =>
        /^\/_console\/(graphiql|reference|diagram|opened|records|.*worker)/.test(path),
      ),
    ).toEqual([]);
    expect(here.complaints).toEqual([]);
  });

  test('what is served can be read and followed where no script has arrived', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    const arriving = Promise.withResolvers<void>();
    await page.route('**/*.js', async (route) => {
      await arriving.promise;
      await route.continue();
    });
    await page.goto(duet.url, { waitUntil: 'commit' });
    // As it is called when the script is there.
    await page.getByRole('heading', { name: 'Resources' }).waitFor();
    const card = page.getByRole('listitem').filter({ hasText: '/museums' });
    await card.getByRole('link', { name: 'Museum' }).click();
    arriving.resolve();
    await page.getByRole('heading', { name: 'Museum', exact: true }).waitFor();
    expect(here.complaints).toEqual([]);
  });
});

// On both databases the answers are the same, and data.test.ts shows that what is made of them is.
browsing('with the keyboard alone', () => {
  let duet: Awaited<ReturnType<typeof service>>;
  beforeAll(async () => {
    duet = await service('sqlite', museum);
  });
  afterAll(() => duet.end());

  test('search: the box finds words, the most relevant first, and all again when it is emptied', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    const { keyboard } = page;
    await here.go('#/data/Hall');
    await settled(page);
    await page.getByRole('searchbox', { name: 'Search halls' }).waitFor();
    await here.go('#/data/Exhibit');
    await page.getByText('Exhibit 25').waitFor();
    await page.getByRole('searchbox', { name: 'Search exhibits' }).focus();
    await keyboard.type('EXHIBIT 3');
    await keyboard.press('Enter');
    await page.getByText('Exhibit 30', { exact: true }).waitFor();
    await page.getByText('11 records').waitFor();
    await page.waitForURL(/search=EXHIBIT%203&sort=_relevance/);
    await page.getByRole('searchbox').fill('nowhere');
    await keyboard.press('Enter');
    await page.getByText('No matches').waitFor();
    await page.getByRole('searchbox').fill('');
    await keyboard.press('Enter');
    await page.getByText('Exhibit 25').waitFor();
    await page.waitForURL((url) => !url.href.includes('search'));
    expect(here.complaints).toEqual([]);
  });

  test('create, change and delete a record of every kind of field', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    const { keyboard } = page;
    await here.go('');
    await settled(page);
    await keyboard.press('Tab');
    expect(await focused(page)).toBe('Skip to the content');
    await tabTo(page, 'Exhibit');
    await keyboard.press('Enter');
    await page.getByText('Exhibit 25').waitFor();
    await tabTo(page, 'New');
    await keyboard.press('Enter');
    await tabTo(page, 'field-title');
    await keyboard.type('A chair');
    await tabTo(page, 'field-stage');
    await keyboard.type('DONE');
    await tabTo(page, 'field-tags');
    await keyboard.press('Enter');
    await tabBack(page, 'field-tags-0');
    await keyboard.type('wood');
    await tabTo(page, 'field-weight');
    await keyboard.type('12.5');
    await tabTo(page, 'field-onLoan');
    await keyboard.press('Space');
    await tabTo(page, 'field-acquired');
    await keyboard.type('01022003');
    await tabTo(page, 'field-extra');
    await keyboard.type('{"legs":4}');
    await tabTo(page, 'field-hallId');
    await keyboard.type('hall x');
    await page.getByRole('option', { name: /No results/ }).waitFor();
    await keyboard.press('Control+A');
    // At once: on the way there, "Ha" would find the same, and what is chosen then is gone with the next letter.
    await keyboard.insertText('Hall');
    await page.getByRole('option', { name: 'Hall B' }).waitFor();
    await keyboard.press('ArrowDown');
    await keyboard.press('Enter');
    await tabTo(page, 'Create');
    await keyboard.press('Enter');
    await page.getByRole('heading', { name: 'A chair' }).waitFor();
    await shows(() => focused(page), 'main');
    expect(await duet.json('GET', '/exhibits/61')).toMatchObject({
      title: 'A chair',
      stage: 'DONE',
      tags: ['wood'],
      weight: 12.5,
      onLoan: true,
      acquired: '2003-01-02',
      extra: { legs: 4 },
      label: null,
      hallId: 2,
    });
    await tabTo(page, 'Edit');
    await keyboard.press('Enter');
    await tabTo(page, 'field-weight');
    await tabTo(page, 'Set to null: weight');
    await keyboard.press('Enter');
    await tabTo(page, 'Save');
    await keyboard.press('Enter');
    await page.getByRole('button', { name: 'Delete' }).waitFor();
    expect((await duet.json('GET', '/exhibits/61')).weight).toBeNull();
    await tabTo(page, 'Delete');
    await keyboard.press('Enter');
    await tabTo(page, 'Delete it');
    await keyboard.press('Enter');
    await page.getByText('Exhibit 25').waitFor();
    expect((await duet.json('GET', '/exhibits/61')).status).toBe(404);
    expect(here.complaints).toEqual([]);
  });

  test('resources with one door, few operations, or keys of their own', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    await here.go('#/data/Whisper');
    await page.getByText('psst').waitFor();
    await page.getByRole('link', { name: 'psst', exact: true }).click();
    await page.getByRole('heading', { name: 'psst' }).waitFor();
    await here.go('#/data/Ledger');
    await page.getByText('12.5').waitFor();
    await here.go('#/data/AuditEntry');
    await page.getByText('The door was opened.').waitFor();
    await page.getByRole('link', { name: 'New' }).waitFor({ state: 'detached' });
    // Where there is nothing yet, a file is as welcome as a record; one without a name is told by its key.
    await here.go('#/data/Nothing');
    await page.locator('.empty').getByRole('link', { name: 'Import' }).waitFor();
    await duet.json('POST', '/nothings', {});
    await page.getByRole('button', { name: 'Refresh' }).click();
    await shows(() => page.locator('tbody td').first().textContent(), '1');
    await page.getByRole('link', { name: '1', exact: true }).click();
    await page.getByRole('heading', { name: 'Nothing 1' }).waitFor();
    await here.go('#/data/Feedback');
    await page.getByRole('link', { name: 'New' }).click();
    await page.getByRole('textbox', { name: 'text' }).fill('Nice');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByText('Records of this type can be created, but not read').waitFor();
    await here.go('#/data/Country/new');
    await page.getByRole('textbox', { name: 'code' }).fill('a/b ü');
    await page.getByRole('textbox', { name: 'name' }).fill('Nowhere');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { name: 'Nowhere' }).waitFor();
    // The far side of one of two references to the same type.
    await here.go('#/data/Person/record/0190f5a0-7c1e-7a64-b3f5-000000000002');
    const keeps = page.getByRole('region', { name: 'keeps', exact: true });
    // What else its records refer to has a name in either answer.
    for (const door of ['GraphQL', 'REST']) {
      await page.getByRole('radio', { name: door }).check();
      await keeps.getByRole('link', { name: 'Barbara Liskov' }).nth(4).waitFor();
      await page.getByText('Both have the same records.').waitFor();
    }
    await keeps.getByRole('link', { name: 'Open in table' }).click();
    await page.waitForURL(/#\/data\/Exhibit\?keeperId\[eq\]=/);
    await page.getByText('Exhibit 49').waitFor();
    expect(here.complaints).toEqual([]);
  });
});

function focused(page: Page): Promise<string> {
  return page.evaluate(
    'document.activeElement.id || document.activeElement.getAttribute("aria-label") || document.activeElement.textContent.trim()',
  );
}

/** Presses Tab until the focus is there. */
function tabTo(page: Page, name: string): Promise<void> {
  return press(page, 'Tab', name);
}

function tabBack(page: Page, name: string): Promise<void> {
  return press(page, 'Shift+Tab', name);
}

async function press(page: Page, key: string, name: string): Promise<void> {
  const passed: string[] = [];
  for (let tries = 0; tries < 150; tries++) {
    await page.keyboard.press(key);
    const here = await focused(page);
    if (here === name) return;
    passed.push(here);
  }
  throw new Error(`the focus never came to ${name}, but to ${passed.slice(0, 40).join(', ')}`);
}
