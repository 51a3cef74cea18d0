/** What somebody who sees a screen for the first time must find on it, whole and without trying. */

import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { browsing, service, shows, visit } from './browser.ts';
import { museum } from './museum.ts';

const NARROW = { isDrawn: true, viewport: { width: 360, height: 740 } };

// How it looks is the same whatever database it comes from.
browsing('at first sight', () => {
  let duet: Awaited<ReturnType<typeof service>>;
  beforeAll(async () => {
    duet = await service('sqlite', museum);
  });
  afterAll(() => duet.end());

  const cell = (page: Page, row: number, column: number) =>
    page.locator(`tr[aria-rowindex="${row + 1}"] td[aria-colindex="${column}"]`);

  test('a moment is seen up to its AM or PM on a telephone, in forms and in filters', async () => {
    await using here = await visit(duet.url, NARROW);
    const { page } = here;
    for (const place of [
      '#/data/Exhibit/record/3/edit',
      '#/data/Exhibit?inspectedAt[gt]=2025-03-04T05:06:07Z',
    ]) {
      await here.go(place);
      if (!place.endsWith('edit')) await page.getByRole('button', { name: 'Filter' }).click();
      const input = page.locator('[type="datetime-local"]');
      await input.waitFor();
      const lacking = await input.evaluate((each: any) => {
        const whole = each.cloneNode();
        whole.style.cssText = 'position: absolute; width: max-content';
        each.ownerDocument.body.append(whole);
        const { offsetWidth } = whole;
        whole.remove();
        return offsetWidth - each.offsetWidth;
      });
      // Between the moment and the sign of the picker is that much to give.
      expect([place, lacking < 12]).toEqual([place, true]);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
    }
  });

  test('the editor of a reference shows choices at once, and ends as that of any other cell', async () => {
    await using here = await visit(duet.url, { isDrawn: true });
    const { page } = here;
    const { keyboard } = page;
    await here.go('#/data/Exhibit?_columns=title,hallId,makerId');
    const input = page.getByRole('combobox', { name: 'hallId' });
    const hall = async () => (await duet.json('GET', '/exhibits/3')).hallId;
    const open = async () => {
      await cell(page, 3, 2).focus();
      await keyboard.press('Enter');
      await page.getByRole('option', { name: 'Hall B' }).waitFor();
    };
    for (const key of ['Enter', 'Escape']) {
      await open();
      await keyboard.press(key);
      await input.waitFor({ state: 'detached' });
      await shows(() => cell(page, 3, 2).evaluate((each: any) => each.matches(':focus')), true);
    }
    expect(await hall()).toBe(1);
    await open();
    await keyboard.press('Tab');
    await page.getByRole('combobox', { name: 'makerId' }).waitFor();
    await keyboard.press('Escape');
    // Whoever marks a word of it goes on.
    await open();
    await input.dblclick({ position: { x: 20, y: 12 } });
    await shows(() => page.evaluate('String(getSelection())'), 'Hall');
    await keyboard.press('ArrowDown');
    await keyboard.press('ArrowDown');
    await keyboard.press('Enter');
    await shows(() => input.inputValue(), 'Hall B');
    await keyboard.press('Enter');
    await shows(hall, 2);
    // What it leads to is read again: until then, the cell is as it was.
    await cell(page, 3, 2).getByRole('link', { name: 'Hall B' }).waitFor();
    // What was typed is given up first.
    await open();
    await keyboard.type('Hall A');
    await page.getByRole('option', { name: 'Hall B' }).waitFor({ state: 'detached' });
    await keyboard.press('Escape');
    await shows(() => input.inputValue(), 'Hall B');
    await keyboard.press('Escape');
    await input.waitFor({ state: 'detached' });
    expect(await hall()).toBe(2);
    expect(here.complaints).toEqual([]);
  });

  test('names of types and fields that are too long for their place are broken between their words', async () => {
    const type = 'OrganisationForStandardisationDocumentReference';
    const field = 'nameOfTheCommitteeThatIsResponsibleForTheDocument';
    /** The lines that a name takes; only a word that no line has room for may be broken. */
    const lines = (page: Page, name: string) =>
      page.evaluate((wanted) => {
        const { document } = globalThis as any;
        const drawn = [...document.querySelectorAll('.side a, h1, h2, label, dt > span:first-child')].filter(
          (each) => each.textContent.trim() === wanted && each.getBoundingClientRect().width > 0,
        );
        return drawn.map((each) => {
          const found: string[] = [];
          let top = Number.NaN;
          const walk = document.createTreeWalker(each, 4);
          for (let node = walk.nextNode(); node; node = walk.nextNode())
            for (const [at, letter] of [...node.data].entries()) {
              const range = document.createRange();
              range.setStart(node, at);
              range.setEnd(node, at + 1);
              const box = range.getBoundingClientRect();
              if (Math.abs(box.top - top) < 4) found.push(found.pop() + letter);
              else found.push(letter);
              top = box.top;
            }
          return found.map((line) => line.trim());
        });
      }, name);
    const brokenWithin = (all: string[][]) =>
      all.flatMap(([, ...later]) => later).filter((line) => /^[a-z]/.test(line));
    await using wide = await visit(duet.url, { isDrawn: true });
    await wide.go('#/');
    const seen = await lines(wide.page, type);
    expect(seen.map((each) => each.length > 1)).toEqual([true, true]);
    expect(brokenWithin(seen)).toEqual([]);
    await using here = await visit(duet.url, NARROW);
    for (const place of ['#/', `#/data/${type}`, `#/data/${type}/record/1`, `#/data/${type}/record/1/edit`]) {
      await here.go(place);
      await here.page.locator('main :is(h1, h2, dl, form)').first().waitFor();
      const all = [...(await lines(here.page, type)), ...(await lines(here.page, field))];
      expect([place, all.length > 0, brokenWithin(all)]).toEqual([place, true, []]);
    }
  });

  test('columns are as wide as what is in them after another filter, page or window, and stay while one edits and sorts', async () => {
    const names = ['Ada', 'Countess Ada Lovelace, born Byron'];
    for (const [at, name] of names.entries()) await duet.json('POST', '/countries', { code: `Z${at}`, name });
    await using here = await visit(duet.url, { isDrawn: true });
    const { page } = here;
    const width = () =>
      page
        .locator('thead th')
        .first()
        .evaluate((each: any) => each.offsetWidth);
    /** Whether its text is seen to its end. */
    const isWhole = () =>
      cell(page, 1, 1).evaluate(
        (each: any) => each.scrollWidth <= each.clientWidth && each.textContent.trim(),
      );
    await here.go('#/data/Country?code[eq]=Z0&_columns=name,code');
    await shows(isWhole, names[0]);
    const narrow = await width();
    await page.evaluate("location.hash = '#/data/Country?code[eq]=Z1&_columns=name,code'");
    await shows(isWhole, names[1]);
    const wide = await width();
    expect(wide).toBeGreaterThan(narrow);
    // Neither the order nor what is written makes a column jump.
    await page.getByRole('button', { name: /^name/ }).click();
    await page
      .getByRole('columnheader', { name: 'name' })
      .and(page.locator('[aria-sort="ascending"]'))
      .waitFor();
    await cell(page, 1, 1).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('textbox', { name: 'name' }).fill('A');
    await page.keyboard.press('Enter');
    await shows(isWhole, 'A');
    expect(await width()).toBe(wide);
    // In another window they are found anew, but for what somebody has said.
    await page.setViewportSize({ width: 1600, height: 900 });
    await shows(async () => (await width()) !== wide, true);
    await page.evaluate("location.hash = '#/data/Country?code[eq]=Z0&_columns=name:90,code'");
    await shows(width, 90);
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.evaluate("location.hash = '#/data/Country?code[eq]=CH&_columns=name:90,code'");
    await cell(page, 1, 1).getByText('Switzerland').waitFor();
    expect(await width()).toBe(90);
    expect(here.complaints).toEqual([]);
  });

  test('values of an enum that are deprecated come last and say so, in forms and in filters', async () => {
    await using here = await visit(duet.url, { isDrawn: true });
    const { page } = here;
    const last = (of: string) =>
      page.locator(of).evaluateAll((all: any[]) => [all.length, all.at(-1)?.textContent, all.at(-1)?.title]);
    await duet.json('PUT', '/exhibits/5', { stage: 'ABANDONED' });
    const told = 'Delete it instead.';
    // The one that the record has stays.
    await here.go('#/data/Exhibit/record/5/edit');
    await shows(() => page.locator('#field-stage').inputValue(), 'ABANDONED');
    expect(await last('#field-stage option')).toEqual([4, 'ABANDONED (deprecated)', told]);
    for (const operator of ['eq', 'in']) {
      await here.go('#/data/Hall');
      await here.go(`#/data/Exhibit?stage[${operator}]=DONE`);
      await page.getByRole('button', { name: 'Filter' }).click();
      const values = operator === 'eq' ? '[aria-label="Value"] option' : '.boxes label';
      await shows(() => last(values), [4, 'ABANDONED (deprecated)', told]);
    }
    await page.getByLabel('ABANDONED (deprecated)').check();
    await page.getByRole('button', { name: 'Apply' }).click();
    await shows(() => page.url().split('?')[1], 'stage[in]=DONE,ABANDONED');
  });

  test.each([360, 1280])('at %d px a long text leaves room for the rest of its record', async (width) => {
    await using here = await visit(duet.url, { isDrawn: true, viewport: { width, height: 740 } });
    const { page } = here;
    await here.go('#/data/Exhibit/record/2');
    const text = page.locator('dl.fields > div', { hasText: 'A long text.' }).locator('dd > div');
    const lines = () =>
      text.evaluate((each: any) =>
        Math.round(
          each.clientHeight / Number.parseFloat((globalThis as any).getComputedStyle(each).lineHeight),
        ),
      );
    const more = page.getByRole('button', { name: 'Show all' });
    await more.waitFor();
    expect(await more.count()).toBe(1);
    expect(await more.getAttribute('aria-expanded')).toBe('false');
    expect(await lines()).toBe(12);
    await more.click();
    const less = page.getByRole('button', { name: 'Show less' });
    await less.waitFor();
    expect(await less.getAttribute('aria-expanded')).toBe('true');
    expect(await lines()).toBeGreaterThan(12);
    await less.click();
    await more.waitFor();
    await shows(lines, 12);
  });

  test('a form shows below its inputs what only the service fills in', async () => {
    await using here = await visit(duet.url, { isDrawn: true });
    const { page } = here;
    await here.go('#/data/Exhibit/record/3/edit');
    const filled = page.locator('form .filled');
    await filled.getByRole('heading', { name: 'Read-only' }).waitFor();
    expect(await filled.locator('dt > span:first-child').allTextContents()).toEqual(['id', 'createdAt']);
    expect(await filled.locator('dd').first().textContent()).toBe('3');
    expect(await filled.locator('input, button').count()).toBe(0);
    // A key that people give is not among it.
    await here.go('#/data/Country/record/CH/edit');
    await page.locator('#field-name').waitFor();
    expect(await filled.count()).toBe(0);
  });

  test('on a telephone the diagram begins at its first type, large enough to be read', async () => {
    await using here = await visit(duet.url, NARROW);
    const { page } = here;
    await here.go('#/schema');
    const boxes = page.locator('.diagram .box');
    await boxes.first().waitFor();
    /** The scale, and whether the uppermost type stands whole in the upper half of the window. */
    const begins = async () => {
      const scale = await page
        .locator('.diagram svg > g')
        .evaluate((each: any) => each.transform.baseVal[1].matrix.a);
      const all = await boxes.evaluateAll((each: any[]) =>
        each.map((box) => box.getBoundingClientRect().toJSON()),
      );
      const [{ left, right, top }] = all.toSorted((one, other) => one.top - other.top);
      return [scale >= 1, left >= 0 && right <= 360 && top >= 0 && top < 300];
    };
    await shows(begins, [true, true]);
  });

  test('what an input of “View as” takes is told as an example, and not as if it were filled in', async () => {
    await using here = await visit(duet.url, { isDrawn: true });
    await here.go('#/operate/access');
    await here.page.getByRole('textbox', { name: 'Subject' }).waitFor();
    const told = await here.page
      .locator('form.who input')
      .evaluateAll((all: any[]) => all.map((each) => each.placeholder));
    expect(told.length).toBe(3);
    expect(told.filter((each) => !each.startsWith('for example '))).toEqual([]);
  });

  test('the bar of selected rows ends with its last button, and what can be copied begins where other values do', async () => {
    await using wide = await visit(duet.url, { isDrawn: true, viewport: { width: 2560, height: 900 } });
    await wide.go('#/data/Exhibit');
    await wide.page
      .getByRole('checkbox', { name: /^Select/ })
      .nth(1)
      .check();
    const bar = wide.page.getByRole('region', { name: 'Selected rows' });
    const right = (each: any) => each.getBoundingClientRect().right;
    expect(await bar.evaluate(right)).toBe(await bar.getByRole('button').last().evaluate(right));
    // In a row of its own it stands below the others, in a table below its heading.
    for (const [width, begins] of [
      [360, 'td[data-of="caller"] > *'],
      [2560, 'thead th:last-child .head'],
    ] as const) {
      await using here = await visit(duet.url, { isDrawn: true, viewport: { width, height: 800 } });
      await here.go('#/operate/requests');
      const left = (of: string) =>
        here.page
          .locator(of)
          .first()
          .evaluate((each: any) => {
            const range = each.ownerDocument.createRange();
            range.selectNodeContents(each.querySelector('svg') ?? each);
            return (each.querySelector('svg') ?? range).getBoundingClientRect().left;
          });
      const copied = await left('td[data-of="request id"] > *');
      expect([width, Math.abs(copied - (await left(begins))) < 3]).toEqual([width, true]);
    }
  });

  test('what stands in one line stands in its middle', async () => {
    await using here = await visit(duet.url, { isDrawn: true });
    await here.go('#/data/Exhibit/import');
    await here.page.getByLabel('File to import').setInputFiles({
      name: 'a.csv',
      mimeType: 'text/plain',
      buffer: Buffer.from('title,story\nOne,Short\n'),
    });
    await here.page.locator('.mapping select').first().waitFor();
    for (const line of ['.settings label:has(select)', '.mapping tbody tr']) {
      const middles: number[] = await here.page
        .locator(line)
        .first()
        .evaluate((each: any) =>
          [...each.children].map((part) => {
            const range = part.ownerDocument.createRange();
            range.selectNodeContents(part);
            const { top, bottom } = (
              part.matches('select') ? part : (part.querySelector('select') ?? range)
            ).getBoundingClientRect();
            return (top + bottom) / 2;
          }),
        );
      const apart = Math.max(...middles) - Math.min(...middles);
      expect([line, middles.length > 1, apart < 2]).toEqual([line, true, true]);
    }
  });
});
