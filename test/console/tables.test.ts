/** Tables as people use them all day: what opens, what is shown of a value, which columns, and how far one had scrolled. */

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { browsing, service, shows, visit } from './browser.ts';

const key = (at: number) => `0190f5a0-7c1e-7a64-b3f5-${String(at).padStart(12, '0')}`;
const others = Array.from({ length: 14 }, (_, at) => `more${at}`);

const sdl = `
type Note @resource @journal(keep: "1d") { id: ID! text: String! }
type Owner @resource { id: ID! name: String! things: [Thing!]! }
type Thing @resource {
  id: UUID!
  count: Int
  units: BigInt
  price: Decimal @decimal(scale: 2)
  title: String!
  ${others.map((name) => `${name}: String`).join('\n  ')}
  owner: Owner
}`;

const data = {
  notes: Array.from({ length: 30 }, (_, at) => ({ text: `Note ${at + 1}` })),
  owners: ['Zoe', 'Ada', 'Mia'].map((name) => ({ name })),
  things: Array.from({ length: 600 }, (_, at) => ({
    id: key(at + 1),
    title: `Thing ${at + 1}`,
    count: at * 1000,
    units: '9007199254740993',
    price: '12345.50',
    more0: 'word '.repeat(80),
    ownerId: 1 + (at % 3),
  })),
};

// On both databases the answers are the same, and data.test.ts shows that what is made of them is.
browsing('tables, on sqlite', () => {
  let duet: Awaited<ReturnType<typeof service>>;
  beforeAll(async () => {
    duet = await service('sqlite', { sdl, data });
  });
  afterAll(() => duet.end());

  const heads = 'thead th .head > span:first-child';

  test('the name comes first and a click on the row opens it; keys are short, numbers in groups, all of it at hand', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    await here.go('#/data/Thing?sort=-count');
    const row = page.locator('tbody tr').first();
    await row.getByText('Thing 600').waitFor();
    const cells = await row
      .locator('td')
      .evaluateAll((all) => all.slice(0, 5).map((each: any) => [each.textContent, each.title]));
    expect(cells).toEqual([
      ['Thing 600', 'Thing 600'],
      ['0190…000600', key(600)],
      ['599,000', '599000'],
      ['9,007,199,254,740,993', '9007199254740993'],
      ['12,345.50', '12345.50'],
    ]);
    expect(await page.getByTitle('word '.repeat(80)).count()).toBe(25);
    await row.getByRole('button', { name: 'Copy' }).click();
    const toast = page.getByRole('status').filter({ hasText: 'Copied' });
    await toast.waitFor();
    // What is told stands over the table, and not over the code below it.
    const { y = 0, height = 0 } = (await toast.boundingBox()) ?? {};
    const dock = await page.getByRole('region', { name: 'REST and GraphQL' }).boundingBox();
    expect(y + height).toBeLessThanOrEqual(dock?.y ?? 0);
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(key(600));
    // The column that stays is tinted with its row, and stands at the very edge, over the others.
    await page.getByRole('region', { name: 'Thing table' }).evaluate((each: any) => each.scrollBy(400, 0));
    await row.locator('td').nth(5).hover();
    const edges = await row.evaluate((each: any) => {
      const { getComputedStyle, document } = each.ownerDocument.defaultView;
      const [first, head, table] = [
        each.cells[0],
        document.querySelector('thead th'),
        each.closest('section'),
      ];
      const left = (of: any) => of.getBoundingClientRect().left - table.getBoundingClientRect().left;
      const colour = (of: any) => getComputedStyle(of).backgroundColor;
      const { right, top } = first.getBoundingClientRect();
      return {
        isTinted: colour(first) === colour(each) && colour(each) !== colour(each.nextSibling),
        isAtTheEdge: left(first) === table.clientLeft && left(head) === table.clientLeft,
        isBelowItsHead: left(first.querySelector('input')) === left(head.querySelector('input')),
        isOnTop: document.elementFromPoint(right - 3, top + 9) === first,
      };
    });
    expect(edges).toEqual({ isTinted: true, isAtTheEdge: true, isBelowItsHead: true, isOnTop: true });
    await row.getByText('599,000').click();
    await page.getByRole('heading', { name: 'Thing 600' }).waitFor();
    expect(here.complaints).toEqual([]);
  });

  test('columns are chosen, moved and made wider, in the address and in this browser', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    await here.go('#/data/Thing?_columns=title,ownerId,count');
    await shows(() => page.locator(heads).allTextContents(), ['title', 'owner', 'count']);
    await page.getByRole('button', { name: 'Columns' }).click();
    await page.getByRole('button', { name: 'Move count to the left' }).click();
    await page.getByRole('checkbox', { name: 'price' }).check();
    await page.getByRole('checkbox', { name: 'title' }).uncheck();
    await page.waitForURL(/_columns=count,ownerId,price$/);
    await shows(() => page.locator(heads).allTextContents(), ['count', 'owner', 'price']);
    const head = page.locator('thead th').first();
    const { x = 0, y = 0, width = 0 } = (await head.boundingBox()) ?? {};
    await page.mouse.move(x + width, y + 10);
    await page.mouse.down();
    await page.mouse.move(x + width + 50, y + 10);
    await page.mouse.up();
    await page.waitForURL(new RegExp(`_columns=count:${Math.round(width) + 50},`));
    await shows(async () => Math.round((await head.boundingBox())?.width ?? 0), Math.round(width) + 50);
    // The address keeps them through an order and another page, and without a word of it this browser does.
    await page.getByRole('button', { name: /^count/ }).click();
    await page.waitForURL(/sort=count&_columns=count:/);
    await here.go('#/data/Owner');
    await here.go('#/data/Thing');
    await shows(() => page.locator(heads).allTextContents(), ['count', 'owner', 'price']);
    await page.getByRole('button', { name: 'Columns' }).click();
    await page.getByRole('button', { name: 'All columns' }).click();
    await shows(() => page.locator(heads).count(), 20);
    await page.getByRole('button', { name: 'Hide all but title' }).click();
    await shows(() => page.locator(heads).allTextContents(), ['title']);
    expect(here.complaints).toEqual([]);
  });

  test('of 500 rows those in sight are drawn, and Back leads to where one was', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    await here.go('#/data/Thing?limit=500');
    await page.getByText('Thing 1', { exact: true }).waitFor();
    const drawn = () => page.locator('tbody tr[aria-rowindex]').count();
    expect(await drawn()).toBeLessThan(100);
    const table = page.getByRole('region', { name: 'Thing table' });
    await table.evaluate((each: any) => each.scrollTo(0, each.scrollHeight));
    await page.getByText('Thing 500', { exact: true }).waitFor();
    expect(await drawn()).toBeLessThan(100);
    await table.evaluate((each: any) => each.scrollTo(0, 7200));
    await page.getByRole('link', { name: 'Thing 203', exact: true }).click();
    await page.getByRole('heading', { name: 'Thing 203' }).waitFor();
    await page.goBack();
    await page.getByText('Thing 203', { exact: true }).waitFor();
    expect(await table.evaluate((each: any) => each.scrollTop)).toBe(7200);
    // Another order begins at its beginning.
    await page.getByRole('button', { name: /^count/ }).click();
    await page.getByText('Thing 1', { exact: true }).waitFor();
    expect(await table.evaluate((each: any) => each.scrollTop)).toBe(0);
    expect(here.complaints).toEqual([]);
  });

  test('of 20 columns those in sight are drawn, after a window was made wider too; the arrows lead to all of them', async () => {
    await using here = await visit(duet.url, { viewport: { width: 1000, height: 900 } });
    const { page } = here;
    await here.go('#/data/Thing');
    const row = page.locator('tbody tr').first();
    await row.getByText('Thing 1', { exact: true }).waitFor();
    const drawn = () => row.locator('td[aria-colindex]').count();
    const at = (column: number) => row.locator(`td[aria-colindex="${column}"]`);
    await shows(async () => (await drawn()) < 16, true);
    // Those that are not drawn leave their room to them.
    const isBelowItsHead = async (column: number) => {
      const [cell, head] = [
        await at(column).boundingBox(),
        await page
          .locator('thead th')
          .nth(column - 1)
          .boundingBox(),
      ];
      return Math.abs((cell?.x ?? 0) - (head?.x ?? 1)) < 1;
    };
    expect(await isBelowItsHead(3)).toBe(true);
    await at(1).focus();
    for (let step = 1; step < 20; step++) {
      await page.keyboard.press('ArrowRight');
      await shows(() => page.evaluate('document.activeElement.ariaColIndex'), String(step + 1));
    }
    expect(await isBelowItsHead(20)).toBe(true);
    expect(await at(20).textContent()).toBe('Zoe');
    expect(await at(3).count()).toBe(0);
    await shows(async () => (await drawn()) < 16, true);
    // What is being edited stays, however far one scrolls.
    const table = page.getByRole('region', { name: 'Thing table' });
    await at(19).dblclick();
    await row.getByRole('textbox').fill('not saved yet');
    await table.evaluate((each: any) => each.scrollTo(0, 0));
    await at(3).waitFor();
    expect(await row.getByRole('textbox').inputValue()).toBe('not saved yet');
    await row.getByRole('textbox').press('Escape');
    // There, long texts have more room, too: of the last columns, some may be out of sight.
    await page.setViewportSize({ width: 3840, height: 900 });
    await shows(async () => (await drawn()) > 16, true);
    expect(here.complaints).toEqual([]);
  });

  test('references sort by what is shown, through both doors; what there is, is counted where it is looked at', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    await here.go('');
    await page.getByRole('article').filter({ hasText: 'Thing' }).getByText('600').waitFor();
    for (const door of ['REST', 'GraphQL']) {
      await here.go('#/data/Thing?limit=500');
      await page.getByRole('radio', { name: door }).check();
      await page.getByRole('button', { name: /^owner/ }).click();
      await page.waitForURL(/sort=owner\.name/);
      await shows(
        () => page.locator('tbody tr[aria-rowindex] [aria-colindex="20"]').first().textContent(),
        'Ada',
      );
      await page.getByRole('button', { name: /^owner/ }).click();
      await shows(
        () => page.locator('tbody tr[aria-rowindex] [aria-colindex="20"]').first().textContent(),
        'Zoe',
      );
    }
    await here.go('#/data/Thing?count[lt]=5000');
    await page.getByRole('main').locator('.title').getByText('5 of 600', { exact: true }).waitFor();
    await page.getByText('5 records', { exact: true }).waitFor();
    expect(here.complaints).toEqual([]);
  });
});

browsing('tables', () => {
  let duet: Awaited<ReturnType<typeof service>>;
  beforeAll(async () => {
    duet = await service('sqlite', { sdl, data });
  });
  afterAll(() => duet.end());

  test('a table that has room fits to the pixel; one that goes on is shaded where it does', async () => {
    // A page of its own: the next test is visited in the usual window.
    await using here = await visit(duet.url, { viewport: { width: 1280, height: 900 } });
    const { page } = here;
    for (const width of [1279, 1280, 1283, 2560]) {
      await page.setViewportSize({ width, height: 900 });
      for (const [type, goesOn] of [
        ['Owner', false],
        ['Note', false],
        ['Thing', true],
      ] as const) {
        await here.go(`#/data/${type}`);
        const table = page.getByRole('region', { name: `${type} table` });
        await table.locator('table.fixed').waitFor();
        const seen = await table.evaluate((each: any) => [
          each.scrollWidth > each.clientWidth,
          each.hasAttribute('data-right'),
        ]);
        expect([type, width, ...seen]).toEqual([type, width, goesOn, goesOn]);
      }
    }
  });

  test('while the service is away, it is told, what was read and typed stays, and all goes on when it is back', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    const told = page.getByRole('status').filter({ hasText: 'The service cannot be reached' });
    const back = page.getByRole('status').filter({ hasText: 'The service is back' });
    await here.go('#/data/Note');
    await page.getByText('Live').waitFor();
    await duet.stop();
    // Nobody has asked for anything.
    await told.waitFor();
    await page.getByRole('button', { name: 'Next' }).click();
    await page.waitForURL(/after=/);
    await shows(() => page.locator('section[aria-busy=true]').count(), 0);
    expect(await page.getByText('Note 1', { exact: true }).count()).toBe(1);
    expect(await page.getByText('Back to the first page').count()).toBe(0);
    expect(await page.getByRole('alert').count()).toBe(0);
    await duet.start();
    await page.getByText('Note 26').waitFor();
    await back.waitFor();
    await told.waitFor({ state: 'detached' });
    await page.getByText('Live').waitFor();

    await page.getByRole('link', { name: 'New', exact: true }).click();
    await page.getByRole('textbox', { name: 'text' }).fill('Typed');
    await page.context().setOffline(true);
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('alert').filter({ hasText: 'cannot be reached' }).waitFor();
    await told.waitFor();
    await page.context().setOffline(false);
    await told.waitFor({ state: 'detached' });
    // That it is back has not sent anything.
    await page
      .getByRole('alert')
      .filter({ hasText: /^Not sent\. Try again\.$/ })
      .waitFor();
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { name: 'Typed' }).waitFor();

    await here.go('#/operate/migrations');
    await page.getByText('create table Owner').waitFor();
    await page.context().setOffline(true);
    await page.getByRole('button', { name: 'Refresh' }).click();
    await told.waitFor();
    expect(await page.getByText('create table Owner').count()).toBe(1);
    await page.context().setOffline(false);
    await told.waitFor({ state: 'detached' });

    await here.go('#/data/Owner');
    const names = () => page.locator('tbody td:first-child').allTextContents();
    const order = () => page.getByRole('columnheader', { name: /^name/ }).getAttribute('aria-sort');
    await shows(names, ['Zoe', 'Ada', 'Mia']);
    await page.context().setOffline(true);
    await page.getByRole('button', { name: /^name/ }).click();
    await told.waitFor();
    expect(await names()).toEqual(['Zoe', 'Ada', 'Mia']);
    // The order that the rows have.
    expect(await order()).toBe('none');
    await page.context().setOffline(false);
    await shows(names, ['Ada', 'Mia', 'Zoe']);
    await shows(order, 'ascending');

    // One request that does not come through is told by itself.
    await page.route('**/owners*', (route) => route.abort());
    await page.getByRole('button', { name: 'Refresh' }).click();
    const alone = page.getByRole('alert').filter({ hasText: 'cannot be reached' });
    await alone.waitFor();
    expect(await told.count()).toBe(0);
    await page.unrouteAll();
    await page.getByRole('button', { name: 'Try again' }).click();
    await alone.waitFor({ state: 'detached' });
    expect(await page.getByText('Zoe').count()).toBe(1);
    expect(here.complaints).toEqual([]);
  });

  test.each([360, 1280, 2560])('at %d px a table shows at its sides that it goes on there', async (width) => {
    await using here = await visit(duet.url, { viewport: { width, height: 900 } });
    const { page } = here;
    await here.go('#/data/Thing');
    const table = page.getByRole('region', { name: 'Thing table' });
    await page.getByText('Thing 1', { exact: true }).waitFor();
    const hints = () =>
      table.evaluate((each: any) => {
        const style = (of: any, part?: string) => each.ownerDocument.defaultView.getComputedStyle(of, part);
        return {
          left: style(each.querySelector('tbody td')).boxShadow !== 'none',
          right: style(each, '::after').opacity === '1',
        };
      });
    await shows(hints, { left: false, right: true });
    // The lines of the column that stays meet those of the others.
    const tops = await table
      .locator('tbody tr')
      .evaluateAll((all) => all.map((each: any) => each.getBoundingClientRect().height));
    expect(tops.filter((each) => !Number.isInteger(each))).toEqual([]);
    await table.evaluate((each: any) => each.scrollTo(300, 0));
    await shows(hints, { left: true, right: true });
    await table.evaluate((each: any) => each.scrollTo(each.scrollWidth, 0));
    await shows(hints, { left: true, right: false });
    await here.go('#/data/Thing?_columns=title:100,count:100');
    await shows(() => page.locator('thead th').count(), 2);
    await shows(hints, { left: false, right: false });
  });
});
