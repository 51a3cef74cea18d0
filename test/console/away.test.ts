/** A service that goes away and comes back: what is told meanwhile, and parts of the console that were not there yet when it went. */

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { browsing, service, visit } from './browser.ts';

browsing('while the service is away', () => {
  let duet: Awaited<ReturnType<typeof service>>;
  beforeAll(async () => {
    const sdl =
      'type Book @resource { id: ID! title: String! } type Rack @resource { id: ID! name: String! }';
    duet = await service('sqlite', { sdl, data: { racks: [{ name: 'Upper' }] } });
  });
  afterAll(() => duet.end());

  for (const [place, sign] of [
    ['#/operate/keys', 'There are no API keys yet'],
    ['#/schema', 'All fields'],
  ] as const)
    test(`${place} is fetched by itself when it is back`, async () => {
      await using here = await visit(duet.url, { isFirst: true });
      const { page } = here;
      await here.go('');
      await duet.stop();
      await page.evaluate(`location.hash = '${place}'`);
      const unloaded = page.getByText('This part of the console could not be loaded');
      await unloaded.waitFor();
      // A reload would find even less.
      await page.getByText('It is loaded as soon as the service is back.').waitFor();
      expect(await page.getByRole('button', { name: 'Reload the page' }).count()).toBe(0);
      await duet.start();
      await page.getByText(sign).first().waitFor();
      expect(await unloaded.count()).toBe(0);
    });

  for (const missing of ['document', 'script'])
    test(`GraphiQL whose ${missing} did not arrive is fetched by itself, too`, async () => {
      await using here = await visit(duet.url, { isFirst: true });
      const { page } = here;
      await here.go('');
      await page.route('**/_console/graphiql**', (route) =>
        missing === 'script' && !route.request().url().endsWith('.js') ? route.continue() : route.abort(),
      );
      await page.route('**/healthz', (route) => route.abort());
      await page.evaluate("location.hash = '#/graphiql'");
      if (missing === 'document')
        await page.getByText('This part of the console could not be loaded').waitFor();
      else await page.frameLocator('iframe').getByText('Opening GraphiQL').waitFor();
      await page.getByText('The service cannot be reached').waitFor();
      await page.unrouteAll();
      await page
        .frameLocator('iframe')
        .getByRole('button', { name: /Execute/ })
        .waitFor();
    });

  test('nothing is said to load, what is read goes on by itself, and what was not sent is said to be sent again', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    const told = page.getByRole('status').filter({ hasText: 'The service cannot be reached' });
    await here.go('#/data/Book/new');
    await page.getByRole('textbox', { name: 'title' }).fill('Typed');
    await page.context().setOffline(true);
    await page.getByRole('button', { name: 'Create' }).click();
    await told.waitFor();
    // One truth at the top and at the button.
    await told
      .getByText('When it is back, data is read again; what was not sent must be sent again.')
      .waitFor();
    await page.getByText('Not sent. Try again when the service is back.').waitFor();
    await page.evaluate("location.hash = '#/data/Rack'");
    await page.getByRole('button', { name: 'Discard changes' }).click();
    await page.getByRole('heading', { name: 'Rack' }).waitFor();
    expect(await page.getByText('Loading').count()).toBe(0);
    await page.context().setOffline(false);
    await page.getByRole('link', { name: 'Upper' }).waitFor();
    expect(here.complaints).toEqual([]);
  });
});
