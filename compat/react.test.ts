/** examples/react, started as its users start it: what one page writes, the other shows, in Chromium. */

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { browsing, shows, visit } from '../test/console/browser.ts';
import { type Example, started } from './example.ts';

browsing('react', () => {
  let example: Example;
  beforeAll(async () => {
    example = await started('react');
  });
  afterAll(() => example?.[Symbol.asyncDispose]());

  test('what one writes, all see; what was changed meanwhile is not written over', async () => {
    const watcher = async () => {
      const { page, complaints } = await visit(example.page, { isFirst: true, isDrawn: true });
      await page.goto(example.page);
      return {
        page,
        complaints,
        box: (title: string) => page.getByRole('checkbox', { name: title }),
        async sees(...titles: string[]) {
          const shown = async () =>
            (await page.locator('li label').allTextContents()).map((text) => text.trim());
          await shows(shown, titles);
        },
      };
    };
    const change = (method: string, path: string, body: unknown) =>
      fetch(example.api + path, {
        method,
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      });
    const [ann, bob] = [await watcher(), await watcher()];
    await ann.page.getByLabel('A new task').fill('Rest');
    await ann.page.getByRole('button', { name: 'Add' }).click();
    await bob.sees('Rest');
    await ann.sees('Rest');
    await bob.box('Rest').click();
    await shows(() => ann.box('Rest').isChecked(), true);
    // Somebody without a page.
    await change('POST', '/tasks', { title: 'Read' });
    for (const each of [ann, bob]) await each.sees('Rest', 'Read');

    // On its way, the change is overtaken by another.
    await ann.page.route('**/tasks/1?*', async (route) => {
      if (route.request().method() === 'PUT') await change('PUT', '/tasks/1', { title: 'Rest a lot' });
      await route.continue();
    });
    await ann.box('Rest').click();
    await ann.page.getByRole('alert').filter({ hasText: 'Somebody else has changed it' }).waitFor();
    for (const each of [ann, bob]) {
      await each.sees('Rest a lot', 'Read');
      expect(await each.box('Rest a lot').isChecked()).toBe(true);
    }
    await bob.page.getByRole('button', { name: 'Delete' }).first().click();
    for (const each of [ann, bob]) await each.sees('Read');
    const complaints = [ann, bob].flatMap((each) => each.complaints);
    expect(complaints.filter((each) => !each.startsWith(example.api))).toEqual([]);
  });
});
