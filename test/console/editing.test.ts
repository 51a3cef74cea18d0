/** Tables that are edited: cells in place, many rows at once, deletes that are taken back, and files that are imported. */

import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { browsing, service, shows, visit } from './browser.ts';

const sdl = `
enum Stage { NEW DONE }
enum Step { BEGUN MADE SOLD }
type Owner @resource { id: ID! name: String! things: [Thing!]! }
type Thing @resource @journal(keep: "30d") {
  id: ID!
  title: String! @constraint(minLength: 1, maxLength: 20)
  count: Int @constraint(min: 0)
  stage: Stage
  code: String @unique
  owner: Owner
  step: Step! @default(value: BEGUN) @transitions(allow: { BEGUN: [MADE], MADE: [SOLD] })
}
type Part @resource @unique(fields: ["thing", "size"]) {
  id: ID!
  size: Int!
  thing: Thing
  price: Decimal @decimal(scale: 2)
  units: BigInt
  made: Date
  seen: DateTime
}`;

// On both databases the answers are the same, and data.test.ts shows that what is made of them is.
browsing('editing, on postgres', () => {
  let duet: Awaited<ReturnType<typeof service>>;
  beforeAll(async () => {
    duet = await service('postgres', {
      sdl,
      data: {
        owners: [{ name: 'Ada' }, { name: 'Zoe' }],
        things: Array.from({ length: 30 }, (_, at) => ({ title: `Thing ${at + 1}`, count: at })),
      },
    });
  });
  afterAll(() => duet.end());

  const cell = (page: Page, row: number, column: number) =>
    page.locator(`tr[aria-rowindex="${row + 1}"] td:nth-child(${column})`);

  test('a cell is edited with Enter, Tab and Escape, with its version', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    const { keyboard } = page;
    await here.go('#/data/Thing?_columns=title,count,stage,ownerId');
    await page.getByText('Thing 1', { exact: true }).waitFor();
    await page.getByRole('region', { name: 'Thing table' }).focus();
    await keyboard.press('ArrowDown');
    // The keys of a grid, and its cells, for those who hear it.
    for (const [key, name] of [
      ['Control+End', '25 4'],
      ['Home', '25 1'],
      ['PageUp', '1 1'],
      ['End', '1 4'],
      ['PageDown', '25 4'],
      ['Control+Home', '1 1'],
    ] as const) {
      await keyboard.press(key);
      await shows(
        () =>
          page
            .getByRole('grid')
            .locator('td:focus')
            .evaluate((each: any) => `${each.parentElement.ariaRowIndex - 1} ${each.ariaColIndex}`),
        name,
      );
    }
    await keyboard.press('Enter');
    await page.getByRole('textbox', { name: 'title' }).waitFor();
    await keyboard.type('First');
    const sent = page.waitForRequest((request) => request.method() === 'PUT');
    await keyboard.press('Tab');
    expect((await sent).postDataJSON()).toEqual({ title: 'First' });
    expect((await sent).headers()['if-match']).toMatch(/^"1-/);
    await page.getByRole('textbox', { name: 'count' }).waitFor();
    await page.getByRole('status').filter({ hasText: 'Saved title of Thing 1' }).waitFor();
    await keyboard.press('Escape');
    // What was saved is taken back, with the version that it was saved as.
    await page.getByRole('button', { name: 'Undo' }).waitFor();
    await keyboard.press('u');
    await page.getByText('title is as it was').waitFor();
    await page.getByText('Thing 1', { exact: true }).waitFor();
    expect((await duet.json('GET', '/things/1')).title).toBe('Thing 1');
    await cell(page, 1, 1).focus();
    await keyboard.press('Enter');
    await page.getByRole('textbox', { name: 'title' }).fill('First');
    await keyboard.press('Tab');
    await page.getByRole('button', { name: 'Undo' }).waitFor();
    await duet.json('PUT', '/things/1', { stage: 'NEW' });
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('status').filter({ hasText: 'changed' }).waitFor();
    expect((await duet.json('GET', '/things/1')).title).toBe('First');
    await cell(page, 1, 2).focus();
    await keyboard.press('Enter');
    await page.getByRole('textbox', { name: 'count' }).waitFor();
    // What cannot be read, and what the service refuses, stays with its reason.
    await keyboard.type('many');
    await keyboard.press('Enter');
    await page.getByRole('alert').filter({ hasText: 'not a number' }).waitFor();
    await page.getByRole('textbox', { name: 'count' }).fill('-1');
    await keyboard.press('Enter');
    await page.getByRole('alert').filter({ hasText: 'count must be 0 or more' }).waitFor();
    await keyboard.press('Escape');
    await page.getByRole('textbox', { name: 'count' }).waitFor({ state: 'detached' });
    await shows(() => cell(page, 1, 2).textContent(), '0');
    // A reference, by its name.
    await cell(page, 1, 4).focus();
    await keyboard.press('Enter');
    await page.locator('td input:focus').waitFor();
    // All are there at once: what is typed leaves one.
    await shows(() => page.locator('td [role=option]').allTextContents(), ['Ada 1', 'Zoe 2']);
    await keyboard.type('Zoe');
    await shows(() => page.locator('td [role=option]').allTextContents(), ['Zoe 2']);
    await keyboard.press('Enter');
    await keyboard.press('Enter');
    await page.getByRole('link', { name: 'Zoe' }).waitFor();
    expect(await duet.json('GET', '/things/1')).toMatchObject({ title: 'First', count: 0, ownerId: 2 });
    // Somebody else was faster, in the same field and in another.
    await cell(page, 2, 1).focus();
    await keyboard.press('Enter');
    await page.getByRole('textbox', { name: 'title' }).fill('Mine');
    await duet.json('PUT', '/things/2', { count: 99 });
    await keyboard.press('Enter');
    await shows(async () => (await duet.json('GET', '/things/2')).title, 'Mine');
    await page.getByRole('textbox', { name: 'title' }).waitFor({ state: 'detached' });
    await cell(page, 3, 1).focus();
    await duet.json('PUT', '/things/3', { title: 'Theirs' });
    await keyboard.press('Enter');
    await page.getByRole('textbox', { name: 'title' }).fill('Mine');
    await keyboard.press('Enter');
    await page.getByRole('alert').filter({ hasText: 'changed it to "Theirs"' }).waitFor();
    expect((await duet.json('GET', '/things/3')).title).toBe('Theirs');
    await keyboard.press('Enter');
    await shows(async () => (await duet.json('GET', '/things/3')).title, 'Mine');
    // A double-click edits too, on a name as well, and a click opens the record.
    await cell(page, 4, 2).dblclick();
    await page.getByRole('textbox', { name: 'count' }).waitFor();
    await keyboard.press('Escape');
    await cell(page, 4, 1).getByRole('link').dblclick();
    await page.getByRole('textbox', { name: 'title' }).fill('Fourth');
    // A click elsewhere saves, and does nothing else.
    await cell(page, 6, 2).click();
    await shows(async () => (await duet.json('GET', '/things/4')).title, 'Fourth');
    await page.getByRole('textbox', { name: 'title' }).waitFor({ state: 'detached' });
    // Nor later, when a click waits for a second one no more.
    await page.evaluate('new Promise((over) => setTimeout(over, 250))');
    expect(page.url()).toContain('#/data/Thing?');
    await shows(() => cell(page, 6, 2).evaluate((each: any) => each.matches(':focus')), true);
    await cell(page, 5, 2).click();
    await page.getByRole('heading', { name: 'Thing 5' }).waitFor();
    // From the keyboard, from whichever cell.
    await page.goBack();
    await cell(page, 7, 2).focus();
    await keyboard.press('o');
    await page.getByRole('heading', { name: 'Thing 7' }).waitFor();
    expect(here.complaints).toEqual([]);
  });

  test('F2 writes behind what is there, Escape goes back to the cell, and the editor hides no other cell', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    const { keyboard } = page;
    await here.go('#/data/Thing?_columns=title:200,count:90,stage,id&sort=-id');
    await page.getByRole('link', { name: 'Thing 30', exact: true }).waitFor();
    await page.getByRole('region', { name: 'Thing table' }).focus();
    await keyboard.press('ArrowDown');
    await keyboard.press('F2');
    await keyboard.type('!');
    await shows(() => page.getByRole('textbox', { name: 'title' }).inputValue(), 'Thing 30!');
    await keyboard.press('Escape');
    await shows(() => cell(page, 1, 1).evaluate((each: any) => each.matches(':focus')), true);
    await keyboard.press('ArrowRight');
    await keyboard.press('Enter');
    const input = page.getByRole('textbox', { name: 'count' });
    const right = (each: any) => each.getBoundingClientRect().right;
    expect(await page.locator('form.cell').evaluate(right)).toBeLessThan(
      (await cell(page, 1, 2).evaluate(right)) + 16,
    );
    // What is edited does not show through, or run out beside it.
    expect(await cell(page, 1, 2).evaluate((each: any) => each.textContent.includes('29'))).toBe(false);
    await keyboard.type('7');
    expect(await input.inputValue()).toBe('7');
    await keyboard.press('Escape');
    // A key cannot be edited: F2 does nothing there.
    await cell(page, 1, 4).focus();
    await keyboard.press('F2');
    await keyboard.press('ArrowLeft');
    await shows(() => cell(page, 1, 3).evaluate((each: any) => each.matches(':focus')), true);
    expect((await duet.json('GET', '/things/30')).title).toBe('Thing 30');
    // However few rows there are, what a cell may refer to is in sight, and the cell with it.
    await here.go('#/data/Thing?id[eq]=30&_columns=title,ownerId');
    await shows(() => page.locator('tbody tr').count(), 1);
    await cell(page, 1, 2).focus();
    await keyboard.press('Enter');
    await page.locator('td input:focus').waitFor();
    await keyboard.type('Zo');
    const bottom = (each: any) => each.getBoundingClientRect().bottom;
    await page.getByRole('option', { name: 'Zoe' }).waitFor();
    const table = page.getByRole('region', { name: 'Thing table' });
    expect(await page.getByRole('option', { name: 'Zoe' }).evaluate(bottom)).toBeLessThan(
      await table.evaluate(bottom),
    );
    expect(await table.evaluate((each: any) => each.scrollTop)).toBe(0);
    expect(here.complaints).toEqual([]);
  });

  test('rows are selected by click, Shift and keyboard, and changed or deleted together; a delete is taken back', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    const { keyboard } = page;
    await duet.json('PUT', '/things/12', { step: 'MADE' });
    await here.go('#/data/Thing?id[gte]=11');
    // No row moves under the pointer, and what can be done to rows covers none of them.
    const table = page.getByRole('region', { name: 'Thing table' });
    const bar = page.getByRole('region', { name: 'Selected rows' });
    for (const width of [360, 1280]) {
      await page.setViewportSize({ width, height: 900 });
      await page.getByText('Thing 11', { exact: true }).waitFor();
      const before = await table.boundingBox();
      await page.getByRole('checkbox', { name: 'Select all rows' }).click();
      await bar.waitFor();
      expect(await table.boundingBox()).toEqual(before as NonNullable<typeof before>);
      const buttons = bar.getByRole('button');
      await buttons.last().focus();
      for (const button of await buttons.all()) {
        const box = await button.boundingBox();
        expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThan(before?.y ?? 0);
      }
      await buttons.last().click();
      await bar.waitFor({ state: 'detached' });
    }
    await page.getByRole('checkbox', { name: 'Select Thing 11' }).click();
    await page.getByRole('checkbox', { name: 'Select Thing 13' }).click({ modifiers: ['Shift'] });
    await page.getByText('3 rows selected').waitFor();
    await keyboard.press('ArrowDown');
    await keyboard.press('Space');
    await page.getByText('4 rows selected').waitFor();
    await page.getByRole('button', { name: 'Change…' }).click();
    const dialog = page.getByRole('dialog');
    // A field that was chosen by mistake, and one that is refused, are left as they are.
    await dialog.getByLabel('Field to change').selectOption('title');
    // It is filled in next.
    await dialog.locator('input:focus').waitFor();
    await keyboard.type('Thing 11');
    await shows(
      () => dialog.locator('.named li').allTextContents(),
      ['11 · is so already', ...['12', '13', '14'].map((at) => `${at} · title Thing ${at} → Thing 11`)].map(
        (each) => `Thing ${each}`,
      ),
    );
    await dialog.getByLabel('Field to change').selectOption('count');
    await dialog.getByLabel('count', { exact: true }).fill('-1');
    // What is sent is copied and opened by buttons in one line.
    const heights = await dialog
      .locator('.door header')
      .evaluateAll((all: any[]) => all.map((each) => each.clientHeight));
    expect(Math.max(...heights)).toBeLessThan(48);
    await dialog.getByLabel('Field to change').focus();
    await shows(() => dialog.getByRole('alert').textContent(), 'count must be 0 or more');
    expect(await dialog.getByRole('button', { name: 'Change 4 records' }).isDisabled()).toBe(true);
    await dialog.getByRole('button', { name: 'Leave count as it is' }).click();
    await dialog.getByRole('button', { name: 'Leave title as it is' }).click();
    expect(await dialog.getByLabel('count', { exact: true }).count()).toBe(0);
    // What only one record can have is no value for four, and no value at all is.
    await dialog.getByLabel('Field to change').selectOption('code');
    await dialog.getByLabel('code', { exact: true }).fill('K-1');
    await dialog.getByLabel('Field to change').focus();
    await shows(
      () => dialog.getByRole('alert').textContent(),
      'code is unique: only one record can have this value',
    );
    expect(await dialog.getByRole('button', { name: 'Change 4 records' }).isDisabled()).toBe(true);
    await dialog.getByRole('button', { name: 'Set to null: code' }).click();
    await dialog.getByRole('alert').waitFor({ state: 'detached' });
    await dialog.getByRole('button', { name: 'Leave code as it is' }).click();
    // Of what is refused for some, it is told for which.
    await dialog.getByLabel('Field to change').selectOption('step');
    await dialog.getByLabel('step', { exact: true }).selectOption('SOLD');
    await dialog.getByRole('button', { name: 'Change 4 records' }).click();
    await dialog.getByText('Refused for Thing 11, Thing 13, Thing 14.').waitFor();
    // What it took is told to its end.
    const cost = dialog.getByLabel('REST').locator('.cost');
    expect(await cost.textContent()).toMatch(/^409 · .*statements?$/);
    expect(await cost.evaluate((each: any) => each.scrollWidth <= each.clientWidth)).toBe(true);
    // Whoever looks at one of them finds the dialog as it was.
    const beside = page.waitForEvent('popup');
    await dialog.getByRole('link', { name: 'Thing 13' }).click();
    await (await beside).getByRole('heading', { name: 'Thing 13' }).waitFor();
    await (await beside).close();
    expect(await dialog.getByLabel('step', { exact: true }).inputValue()).toBe('SOLD');
    // Its buttons stay in sight in a small window, wherever it is scrolled to.
    await page.setViewportSize({ width: 360, height: 480 });
    await dialog.evaluate((each: any) => each.scrollTo(0, 0));
    await shows(
      () =>
        dialog.getByRole('button', { name: 'Change 4 records' }).evaluate((each: any) => {
          const { left, bottom } = each.getBoundingClientRect();
          return each.ownerDocument.elementFromPoint(left + 9, bottom - 9) === each;
        }),
      true,
    );
    await page.setViewportSize({ width: 1280, height: 900 });
    await dialog.getByRole('button', { name: 'Leave step as it is' }).click();
    await dialog.getByLabel('Field to change').selectOption('stage');
    await dialog.getByLabel('stage', { exact: true }).selectOption('DONE');
    await dialog.getByLabel('Field to change').selectOption('ownerId');
    await dialog.getByLabel('owner', { exact: true }).pressSequentially('Zo');
    await page.getByRole('option', { name: 'Zoe' }).click();
    // What becomes of each, in its own words.
    await shows(
      () => dialog.locator('.named li').allTextContents(),
      ['11', '12', '13', '14'].map((at) => `Thing ${at} · stage null → DONE · owner null → Zoe`),
    );
    await dialog.getByText('"atMost":4').waitFor();
    await dialog.getByText('updateThings(where: $where, set: $set, atMost: $atMost)').waitFor();
    await dialog.getByRole('button', { name: 'Change 4 records' }).click();
    await page.getByRole('status').filter({ hasText: 'Changed 4 records' }).waitFor();
    expect((await duet.json('GET', '/things?stage=DONE')).map(({ id }: any) => id)).toEqual([11, 12, 13, 14]);
    // It is taken back, but for what somebody has changed since.
    await duet.json('PUT', '/things/12', { stage: 'NEW' });
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('Restored 3 of 4 records').waitFor();
    expect(await duet.json('GET', '/things?id[in]=11,12,13&fields=id,stage,ownerId')).toEqual([
      { id: 11, stage: null, ownerId: null },
      { id: 12, stage: 'NEW', ownerId: 2 },
      { id: 13, stage: null, ownerId: null },
    ]);

    await page.getByRole('checkbox', { name: 'Select all rows' }).check();
    await page.getByText('20 rows selected').waitFor();
    await page.getByRole('button', { name: 'Delete…' }).click();
    // What comes later was not chosen.
    const { id } = await duet.json('POST', '/things', { title: 'Late', count: 10 });
    // Enter does nothing that is not meant.
    await dialog.locator('button:focus', { hasText: 'Cancel' }).waitFor();
    expect(await dialog.locator('.named li').allTextContents()).toEqual([
      ...['Thing 11', 'Thing 12', 'Thing 13', 'Thing 14', 'Thing 15'],
      'and 15 more',
    ]);
    await dialog.getByRole('button', { name: 'Delete 20 records' }).click();
    await page.getByText('Deleted 20 records').waitFor();
    expect((await duet.json('GET', '/things?id[gte]=11')).map((each: any) => each.id)).toEqual([id]);
    await page.getByText('Deleted here').waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('Restored 20 records').waitFor();
    expect((await duet.json('GET', '/things?id[gte]=11')).length).toBe(21);
    expect(await page.getByText('Deleted here').count()).toBe(0);

    await here.go('#/data/Thing/record/30');
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('button', { name: 'Delete it' }).click();
    // When Undo is gone, its history is one click away.
    await page.getByText('Deleted here').getByRole('link', { name: 'Thing 30' }).click();
    await page.getByRole('heading', { name: 'History of Thing 30' }).waitFor();
    await page.goBack();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('heading', { name: 'Thing 30' }).waitFor();
    expect(here.complaints).toEqual([]);
  });

  test('a file is imported: columns matched, faults by line, all or nothing', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    await here.go('#/data/Thing');
    await page.getByRole('link', { name: 'Import' }).click();
    await page.getByRole('region', { name: 'Fields' }).getByText('title String (required)').waitFor();
    const take = (name: string, text: string) =>
      page
        .getByLabel('File to import')
        .setInputFiles({ name, mimeType: 'text/plain', buffer: Buffer.from(text) });
    const faults = () => page.getByRole('region', { name: 'Errors' }).getByRole('listitem').allTextContents();
    await take('things.csv', 'Title;Number;code\r\n"a ""quoted""\r\nname";1;x\r\n"Two";two;y\r\n;3;z\r\n');
    await shows(faults, ['line 5, title: is required']);
    // What is dropped is told.
    const told = page.getByRole('region', { name: 'File' }).getByRole('status');
    await shows(
      () => told.textContent(),
      'things.csv · 64 B · 3 records · 1 column left out: Number · 1 error',
    );
    await page.getByLabel('Field of Number').selectOption('count');
    await shows(faults, ['line 4, count: Not a number: write one as 12.', 'line 5, title: is required']);
    // The verdict stands at the top, is announced, and leads to the errors below.
    await shows(() => told.textContent(), 'things.csv · 64 B · 3 records · 2 errors');
    await told.getByRole('button', { name: '2 errors' }).click();
    await page.locator('section:focus', { hasText: 'line 4, count' }).waitFor();
    // Nobody has tried to yet.
    await page.getByText('This cannot be imported as it is. 2 errors:').waitFor();
    expect(await page.getByRole('button', { name: 'Import 3 records' }).isDisabled()).toBe(true);
    // One cell, one error: what cannot be read is not missing too.
    await here.go('#/data/Part/import');
    await take('parts.csv', 'size\nbig\n\n7\n');
    await shows(faults, ['line 2, size: Not a number: write one as 12.']);
    // All that forms and cells are told is told by line; whatever is referred to is looked up, by its key or its name.
    await duet.json('POST', '/parts', { size: 3, thingId: 30 });
    const parts = [
      'size,thing,price,units,made,seen',
      '1.5,5,12.505,1.5,2020-13-45,2025-01-02 03:04',
      '2,No such thing,0.5,-0,2023-02-29,2025-01-02T03:04:05+01:00',
      '3,Thing 30,12.50,42,2024-02-29,2025-02-30T03:04:05Z',
      '4,999,,,,',
      '5,5,,,,',
      '5,Thing 5,,,,',
    ];
    await take('parts.csv', parts.join('\n'));
    await shows(faults, [
      'line 2, size: must be a whole number',
      'line 2, price: must have at most 2 digits behind the point',
      'line 2, units: must be a whole number',
      'line 2, made: must be a day such as 2024-05-01',
      'line 2, seen: must be a time such as 2024-05-01T12:30:00Z',
      'line 3, made: must be a day such as 2024-05-01',
      'line 3, thingId: there is no Thing “No such thing”',
      'line 4, seen: must be a time such as 2024-05-01T12:30:00Z',
      'line 4, thingId, size: is taken by another record',
      'line 5, thingId: there is no Thing “999”',
      'line 7, thingId, size: the same as in line 6',
    ]);
    // A file with nothing in it says so, and so does a line that is no JSON, once.
    const nothing = page.getByRole('button', { name: /^Import \d/ });
    await take('none.csv', '');
    await shows(faults, ['line 1: The file is empty.']);
    await take('none.csv', 'size,thing\n');
    await shows(faults, ['line 1: There is no record in the file.']);
    expect(await nothing.count()).toBe(0);
    expect(await page.getByRole('row').count()).toBe(0);
    await take('parts.ndjson', '{"size":1}\n{"size":1 "made":2}\n');
    await shows(faults, ["line 2: This is not JSON: Expected ',' or '}' after property value (column 11)"]);
    await take('parts.json', '[\n{"size":1},\n{"size":1 "made":2}\n]');
    await shows(faults, ["line 3: This is not JSON: Expected ',' or '}' after property value (column 11)"]);
    // What only the service knows, in the same form, once it is tried.
    await take('parts.ndjson', '{"size":6}\n{"size":7,"units":"99999999999999999999"}\n');
    await page.getByRole('button', { name: 'Import 2 records' }).click();
    await shows(faults, ['line 2, units: must be -9223372036854775808 to 9223372036854775807']);
    await page.locator('section:focus', { hasText: 'Nothing was imported. 1 error:' }).waitFor();
    expect(await page.getByText('Operation 0').count()).toBe(0);
    // Whoever has chosen a file from the keyboard is still at the button.
    const chooser = page.waitForEvent('filechooser');
    await page.getByRole('button', { name: 'Choose another file' }).press('Enter');
    await (await chooser).setFiles({
      name: 'parts.csv',
      mimeType: 'text/csv',
      buffer: Buffer.from('size,thing\n8,Thing 7\n9,7\n'),
    });
    await page.locator('button:focus', { hasText: 'Choose another file' }).waitFor();
    await page.getByRole('button', { name: 'Import 2 records' }).click();
    await page.getByRole('status').filter({ hasText: 'Imported 2 records' }).waitFor();
    await page.getByRole('heading', { name: 'Part', exact: true }).waitFor();
    // Of the file that was refused, nothing at all.
    expect(await duet.json('GET', '/parts?size[gte]=6&fields=size,thingId')).toEqual([
      { size: 8, thingId: 7 },
      { size: 9, thingId: 7 },
    ]);
    await here.go('#/data/Thing/import');
    // All of them at once, in one form, before anything is sent: also what other records or other lines have.
    await duet.json('PUT', '/things/1', { code: 'taken' });
    await duet.json('PUT', '/things/2', { code: 'known' });
    const lines = [
      '{"title":"a","count":-1,"code":"x"}',
      '',
      '{"title":"","code":"taken"}',
      '{"title":"b","stage":"LATE","code":"x"}',
      '{"title":"c","code":"known"}',
    ];
    await take('things.ndjson', lines.join('\n'));
    await shows(faults, [
      'line 1, count: must be 0 or more',
      'line 3, title: must have at least 1 character',
      'line 3, code: is taken by another record',
      'line 4, stage: must be one of NEW, DONE',
      'line 4, code: the same as in line 1',
      'line 5, code: is taken by another record',
    ]);
    const before = (await duet.json('GET', '/things')).length;
    await take(
      'things.json',
      JSON.stringify([
        { title: 'One', count: 1 },
        { title: 'Two', owner: 'Ada' },
      ]),
    );
    await page.getByRole('button', { name: 'Import 2 records' }).click();
    await page.getByRole('status').filter({ hasText: 'Imported 2 records' }).waitFor();
    // Of the import before this one, the same was told.
    await shows(async () => (await duet.json('GET', '/things')).length, before + 2);
    const [two, one] = await duet.json('GET', '/things?sort=-id&limit=2');
    expect([one, two]).toMatchObject([
      { title: 'One', count: 1 },
      { title: 'Two', ownerId: 1 },
    ]);
    expect(here.complaints).toEqual([]);
  });
});
