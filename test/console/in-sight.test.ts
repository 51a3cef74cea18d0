/** What a page says is whole, covers nothing else, and has the words of the page: in windows of every width. */

import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Locator, Page } from 'playwright-core';
import { browsing, service, shows, visit } from './browser.ts';

const sdl = `
type Clinic @resource @journal(keep: "1d") { id: ID! name: String! @constraint(minLength: 1) notes: String beds: Int visits: [Visit!]! ${'abcdef'.replace(/./g, '$&: String ')} }
type Visit @resource { id: UUID! patient: String clinic: Clinic! at: DateTime }
input Slot { clinicId: ID! places: Int! at: DateTime! }
type Mutation { book(slots: [Slot!]!): Boolean @action }
`;
const key = (at: number) => `0190f5a0-7c1e-7a64-b3f5-00000000000${at}`;
const data = {
  clinics: [1, 2, 3].map((at) => ({ name: `Clinic ${at}`, notes: 'A long note '.repeat(20), beds: at })),
  visits: [1, 2, 3].map((at) => ({ id: key(at), clinicId: 1, at: '2026-12-24T18:30:15.123Z' })),
};
const logic = 'export default { Mutation: { book: () => true } };';

browsing('in sight', () => {
  let duet: Awaited<ReturnType<typeof service>>;
  beforeAll(async () => {
    duet = await service('sqlite', { sdl, data, logic });
  });
  afterAll(() => duet.end());

  const telephone = { isDrawn: true, viewport: { width: 360, height: 740 } };
  const boxOf = (of: Locator) => of.evaluate((each: any) => each.getBoundingClientRect().toJSON());
  /** Whether it is as wide as what is in it, but for what a picker has to give before its sign. */
  const isWhole = (of: Locator, slack = 0) =>
    of.evaluate((each: any, spare) => {
      const { width } = each.getBoundingClientRect();
      each.style.cssText = 'flex: none; width: max-content; max-width: none';
      const whole = each.getBoundingClientRect().width;
      each.style.cssText = '';
      return width + spare >= whole;
    }, slack);
  /** Whether there is room for the example of what is to be typed. */
  const isShown = async (of: Locator) => {
    await of.fill((await of.getAttribute('placeholder')) ?? '');
    return of.evaluate((each: any) => each.scrollWidth <= each.clientWidth);
  };
  const hash = (page: Page, to: string) => page.evaluate(`location.hash = '${to}'`);

  test.each([360, 1280, 2560])('what is said of the events of a webhook is whole at %i px', async (width) => {
    await using here = await visit(duet.url, { isDrawn: true, viewport: { width, height: 900 } });
    const { page } = here;
    await here.go('#/operate/webhooks');
    await page.getByRole('button', { name: 'New webhook' }).click();
    const events = page.getByRole('group', { name: /^Types with @journal/ });
    const { x, y, height } = await boxOf(events.locator('legend'));
    const drawn = async () =>
      (await page.screenshot({ clip: { x, y, width: 200, height }, animations: 'disabled' })).toString(
        'base64',
      );
    const shown = await drawn();
    // Nothing of it is faded.
    await events.evaluate((each: any) => {
      each.style.mask = 'none';
    });
    expect(await drawn()).toBe(shown);
    expect(await isShown(page.getByLabel('URL of the receiver'))).toBe(true);
    expect(here.complaints).toEqual([]);
  });

  test.each([1280, 1440, 2560])('a moment in an input of an action is whole at %i px', async (width) => {
    await using here = await visit(duet.url, { isDrawn: true, viewport: { width, height: 900 } });
    const { page } = here;
    await here.go('#/actions/book');
    const moment = page.locator('input[type=datetime-local]');
    await moment.fill('2026-12-24T18:30:15.123');
    expect(await isWhole(moment, 12)).toBe(true);
    expect(here.complaints).toEqual([]);
  });

  test('what was done last is not taken for what an import would send', async () => {
    const { id } = await duet.json('POST', '/clinics', { name: 'Closed' });
    await using here = await visit(duet.url, { isDrawn: true });
    const { page } = here;
    await here.go(`#/data/Clinic/record/${id}`);
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('link', { name: 'Import' }).click();
    const rest = page.getByRole('article', { name: 'REST' });
    await rest.getByText(`/clinics/${id}' \\\n  -X DELETE`).waitFor();
    expect(await page.getByLabel('What to show').inputValue()).toBe('Last change');
    expect(here.complaints).toEqual([]);
  });

  test('on a telephone the first field that is wrong comes into sight with its name', async () => {
    await using here = await visit(duet.url, telephone);
    const { page } = here;
    await here.go('#/data/Clinic/record/1/edit');
    const name = page.locator('#field-name');
    await name.fill('');
    const main = page.locator('main');
    const { top } = await boxOf(main);
    // Its upper edge is out of sight.
    const over = (await boxOf(name)).top + 5 - top;
    await main.evaluate((each: any, by) => each.scrollBy(0, by), over);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.locator('#field-name:focus').waitFor();
    expect((await boxOf(page.locator('label[for=field-name]'))).top).toBeGreaterThanOrEqual(top);
    expect(here.complaints).toEqual([]);
  });

  test.each([360, 1280])('the pencil leaves room for the sign that a text is cut at %i px', async (width) => {
    await using here = await visit(duet.url, { isDrawn: true, viewport: { width, height: 900 } });
    const { page } = here;
    await here.go('#/data/Clinic?_columns=name,notes');
    await page.locator('table.fixed').waitFor();
    const cell = page.locator('td.editable', { hasText: 'A long note' }).first();
    const before = await boxOf(cell);
    await cell.hover();
    const [pencil, room] = await cell.evaluate((each: any) => {
      const { getComputedStyle } = each.ownerDocument.defaultView;
      const { width, right } = getComputedStyle(each, '::after');
      return [
        Number.parseFloat(width) + Number.parseFloat(right),
        Number.parseFloat(getComputedStyle(each).paddingRight),
      ];
    });
    expect(pencil).toBeGreaterThan(20);
    expect(room).toBeGreaterThanOrEqual(pencil ?? 0);
    // And nothing moves.
    expect(await boxOf(cell)).toEqual(before);
    expect(here.complaints).toEqual([]);
  });

  test('on a telephone all that a cell is edited with is inside of its table', async () => {
    await using here = await visit(duet.url, telephone);
    const { page } = here;
    await here.go('#/data/Visit?_columns=patient,at');
    await page.locator('td.editable', { hasText: '2026-12-24' }).first().dblclick();
    const form = page.getByRole('form', { name: 'Edit at' });
    await form.waitFor();
    const table = await boxOf(page.locator('.scroll'));
    for (const each of await form.locator('input, button').all()) {
      const { left, right } = await boxOf(each);
      expect(left).toBeGreaterThanOrEqual(table.left);
      expect(right).toBeLessThanOrEqual(table.right);
    }
    expect(await form.getByRole('button', { name: 'Set to null' }).count()).toBe(1);
    expect(here.complaints).toEqual([]);
  });

  test('on a telephone an operator and the example in an empty input are whole', async () => {
    await using here = await visit(duet.url, telephone);
    const { page } = here;
    await here.go('#/data/Clinic?beds[gt]=2');
    await page.getByRole('button', { name: 'Filter' }).click();
    const operator = page.getByLabel('Operator');
    await operator.waitFor();
    expect(await isWhole(operator)).toBe(true);
    // Beside what is compared.
    expect((await boxOf(operator)).top).toBe((await boxOf(page.getByLabel('Field', { exact: true }))).top);
    await page.keyboard.press('Control+k');
    expect(await isShown(page.getByRole('combobox', { name: 'Go to' }))).toBe(true);
    await page.keyboard.press('Escape');
    expect(here.complaints).toEqual([]);
  });

  test('on a telephone records without a name are told by the end of their keys', async () => {
    await using here = await visit(duet.url, telephone);
    const { page } = here;
    await here.go('#/data/Visit');
    const cells = page.locator('tbody td:first-child');
    await cells.nth(2).waitFor();
    const shown = [3, 2, 1].map((at) => `Visit …00000${at}`);
    expect((await cells.allInnerTexts()).map((text) => text.trim()).toSorted()).toEqual(shown.toSorted());
    expect(
      await cells.evaluateAll((all: any[]) => all.some((each) => each.scrollWidth > each.clientWidth)),
    ).toBe(false);
    expect(here.complaints).toEqual([]);
  });

  test('what is wrong is told by the names and in the words of the page', async () => {
    await using here = await visit(duet.url, { isDrawn: true });
    const { page } = here;
    await here.go('#/data/Visit/new');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('alert').getByText('clinic is required', { exact: true }).waitFor();
    for (const [filter, told] of [
      ['Clinic?beds[gt]=abc', 'beds is more than: this must be a whole number.'],
      ['Visit?at[lt]=abc', /^at is before: this must be /],
      ['Visit?clinicId[in]=abc', /^clinic is one of: this must be /],
    ] as const) {
      await hash(page, `#/data/${filter}`);
      await page.getByRole('alert').getByText(told).waitFor();
    }
    await hash(page, '#/operate/requests');
    await page.getByText('failed ones show the address of the caller').waitFor();
    await hash(page, '#/operate/metrics');
    await shows(async () => {
      await duet.json('GET', '/clinics');
      return page.getByRole('heading', { name: 'Errors and refused, per second' }).count();
    }, 1);
    expect(here.complaints).toEqual([]);
  });

  test.each([360, 1280])(
    'what is done to selected rows stands clear of its edges at %i px',
    async (width) => {
      await using here = await visit(duet.url, { isDrawn: true, viewport: { width, height: 900 } });
      const { page } = here;
      await here.go('#/data/Clinic');
      await page.getByLabel('Select Clinic 1', { exact: true }).check();
      const bar = page.getByRole('region', { name: 'Selected rows' });
      const { left, top, bottom } = await boxOf(bar);
      for (const button of await bar.getByRole('button').all()) {
        const box = await boxOf(button);
        const rooms = [box.left - left, box.top - top, bottom - box.bottom];
        expect(Math.min(...rooms)).toBeGreaterThanOrEqual(4);
      }
      expect(here.complaints).toEqual([]);
    },
  );
});
