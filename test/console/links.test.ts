/** A list through a join type: chosen in the form by what people call its records, and shown as chips; through both doors. */

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { browsing, service, shows } from './browser.ts';
import { editing, onBoth, things } from './things.ts';

browsing.each(onBoth)('links, through %s on %s', (door, database) => {
  let duet: Awaited<ReturnType<typeof service>>;
  beforeAll(async () => {
    duet = await service(database, things);
  });
  afterAll(() => duet.end());

  const labels = async (id: number) =>
    (await duet.json('GET', `/shirts/${id}?include=labels`)).labels.map(({ name }: any) => name);

  test('a new record is given some, and another time one comes and one goes', async () => {
    await using here = await editing(duet.url, door, '#/data/Shirt/new');
    const { page, field, sent } = here;
    const search = here.input('_labels');
    const chips = page.getByRole('list', { name: 'labels' }).getByRole('listitem');
    await here.input('name').fill('Flannel');
    for (const [text, name] of [
      ['war', 'Warm'],
      ['Red', 'Red'],
    ] as const) {
      await search.fill(text);
      await page.getByRole('option', { name }).click();
      await chips.filter({ hasText: name }).waitFor();
      await shows(() => search.inputValue(), '');
    }
    await here.save();
    expect(sent).toEqual([{ name: 'Flannel', _labels: { add: [3, 1] } }]);
    const id = Number(/record\/(\d+)/.exec(page.url())?.[1]);
    expect(await labels(id)).toEqual(['Red', 'Warm']);
    // The page of the record shows them, and the table does.
    const listed = page.getByRole('region', { name: 'labels' }).locator('tbody tr');
    await shows(() => listed.count(), 2);

    await page.getByRole('link', { name: 'Edit' }).click();
    await shows(() => chips.allInnerTexts(), ['Red', 'Warm']);
    await page.getByRole('button', { name: 'Remove Red' }).click();
    // What is there already is not added once more, and what is taken away can come back.
    await search.fill('Warm');
    await page.getByRole('option', { name: 'Warm' }).click();
    await search.fill('Sof');
    await page.keyboard.press('ArrowDown');
    await page.getByRole('option', { name: 'Soft' }).waitFor();
    await page.keyboard.press('Enter');
    await chips.filter({ hasText: 'Soft' }).waitFor();
    // Each is opened beside the form, which stays as it is.
    const beside = page.waitForEvent('popup');
    await chips.getByRole('link', { name: 'Soft' }).click();
    await (await beside).getByRole('heading', { name: 'Soft' }).waitFor();
    await (await beside).close();
    expect(await field('_labels').getByRole('link', { name: 'New Label' }).getAttribute('href')).toBe(
      '#/data/Label/new',
    );
    await here.save();
    expect(sent.slice(1)).toEqual([{ _labels: { add: [2], remove: [1] } }]);
    expect(await labels(id)).toEqual(['Soft', 'Warm']);

    await here.go('#/data/Shirt');
    const row = page.locator('tbody tr', { hasText: 'Flannel' }).last();
    await shows(() => row.locator('.items .tag').allInnerTexts(), ['Soft', 'Warm']);
    expect(here.complaints).toEqual([]);
  });

  test('what is typed and not chosen is told at the field, and so is what the service refuses', async () => {
    const { id } = await duet.json('POST', '/shirts', { name: 'Linen', labelIds: [4] });
    await using here = await editing(duet.url, door, `#/data/Shirt/record/${id}/edit`);
    const { page, field, sent } = here;
    await here.input('_labels').fill('Nothing like it');
    await page.getByRole('button', { name: 'Save' }).click();
    await field('_labels').getByRole('alert').filter({ hasText: 'Choose' }).waitFor();
    expect(sent).toEqual([]);
    const gone = await duet.json('POST', '/labels', { name: `Gone ${door}` });
    await here.input('_labels').fill('Gone');
    await page.getByRole('option', { name: `Gone ${door}` }).click();
    await duet.json('DELETE', `/labels/${gone.id}`);
    await page.getByRole('button', { name: 'Save' }).click();
    await field('_labels').getByRole('alert').filter({ hasText: 'does not exist' }).waitFor();
    expect(await labels(id)).toEqual(['Wide']);
  });

  test('a file names them by their keys', async () => {
    await using here = await editing(duet.url, door, '#/data/Shirt/import');
    const { page } = here;
    await page.getByText('labelIds').waitFor();
    const file = { name: 'shirts.csv', mimeType: 'text/csv' };
    const text = 'name,labelIds\nImported,"[3, 1]"\n';
    await page.getByLabel('File to import').setInputFiles({ ...file, buffer: Buffer.from(text) });
    await page.getByRole('button', { name: 'Import 1 record' }).click();
    await page.getByRole('status').filter({ hasText: 'Imported 1 record' }).waitFor();
    const [{ id }] = await duet.json('GET', '/shirts?name=Imported');
    expect(await labels(id)).toEqual(['Red', 'Warm']);
    expect(here.complaints).toEqual([]);
  });
});
