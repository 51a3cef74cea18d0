/** A service that is busy for a moment, and a browser that is, leave no view unfinished; through both doors. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { browsing, service, shows, visit } from './browser.ts';
import { doors, editing, thing, things } from './things.ts';

browsing('slow', () => {
  let duet: Awaited<ReturnType<typeof service>>;
  let form: string;
  beforeAll(async () => {
    duet = await service('sqlite', things);
    form = `#/data/Thing/record/${(await duet.json('POST', '/things', thing)).id}/edit`;
  });
  afterAll(() => duet.end());

  describe.each([...doors])('through %s', (door) => {
    test('what the service has no time for is asked again, and what it was to write is not', async () => {
      await using here = await editing(duet.url, door, '#/data/Owner');
      const { page } = here;
      const asked = new Map<string, number>();
      const detail = 'The service is overloaded; retry in 1 s.';
      await page.route(/\/(openapi|access|file)\.json$|\/me$|\/graphql$|\/things\/\d+$/, (route) => {
        const request = route.request();
        const what = `${request.method()} ${new URL(request.url()).pathname} ${request.postData()}`;
        asked.set(what, (asked.get(what) ?? 0) + 1);
        if (asked.get(what) !== 1) return route.continue();
        return route.fulfill({
          status: 503,
          headers: { 'Retry-After': '1' },
          json: request.url().endsWith('/graphql')
            ? { errors: [{ message: detail, extensions: { code: 'UNAVAILABLE' } }] }
            : { code: 'UNAVAILABLE', status: 503, detail },
        });
      });
      await page.goto('about:blank');
      await here.go(form);
      await here.input('nick').fill(`typed through ${door}`);
      const isWrite = (what: string) => what.includes('typed');
      const reads = () => [...asked].filter(([what]) => !isWrite(what)).map(([, times]) => times);
      await shows(() => reads().every((times) => times > 1), true);
      for (const path of ['openapi.json', 'access.json', 'file.json', 'me', 'graphql'])
        expect([...asked.keys()].some((what) => what.includes(`/${path} `))).toBe(true);
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByRole('alert').filter({ hasText: detail }).waitFor();
      expect([...asked].filter(([what]) => isWrite(what)).map(([, times]) => times)).toEqual([1]);
      await here.save();
      expect(here.complaints).toEqual([]);
    });

    test('a form that could not be read says why, and is read when somebody asks for it or the service is back', async () => {
      await using here = await editing(duet.url, door, '#/data/Owner');
      const { page } = here;
      await page.route(/\/(graphql|things\/\d+)$/, (route) => route.abort());
      await here.go(form);
      const why = page.getByRole('alert').filter({ hasText: 'cannot be reached' });
      await why.waitFor();
      await page.unrouteAll();
      await why.getByRole('button', { name: 'Try again' }).click();
      await here.input('nick').waitFor();
      await here.go('#/data/Tag');
      await page.context().setOffline(true);
      await here.go(form);
      await page.getByRole('status').filter({ hasText: 'The service cannot be reached' }).waitFor();
      await page.context().setOffline(false);
      await here.input('nick').waitFor();
      expect(here.complaints).toEqual([]);
    });
  });

  test('a database that is away is told while the service is asked again', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    let isAway = true;
    await page.route(/\/owners\b/, (route) =>
      isAway
        ? route.fulfill({
            status: 503,
            json: { code: 'UNAVAILABLE', status: 503, detail: 'The database cannot be reached.' },
          })
        : route.continue(),
    );
    await here.go('#/data/Owner');
    const told = page
      .getByRole('status')
      .filter({ hasText: 'The database cannot be reached. Trying again…' });
    await told.waitFor();
    // It is not given up yet.
    expect(await page.getByRole('alert').count()).toBe(0);
    isAway = false;
    await told.waitFor({ state: 'detached' });
    await page.getByRole('grid').waitFor();
    expect(here.complaints).toEqual([]);
  });

  test('where the database that knows the caller is away from the first, it is told, and the page goes on when it is back', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    let isAway = true;
    const files: number[] = [];
    await page.route(/\/((openapi|access|file)\.json|_duet\/me)$/, (route) => {
      if (route.request().url().endsWith('/file.json')) files.push(Date.now());
      return isAway
        ? route.fulfill({
            status: 503,
            json: { code: 'UNAVAILABLE', status: 503, detail: 'The database cannot be reached.' },
          })
        : route.continue();
    });
    await page.goto(`${duet.url}/#/data/Owner`);
    await page.getByRole('status').filter({ hasText: 'cannot be reached. Trying again…' }).waitFor();
    await page.getByRole('alert').filter({ hasText: 'The database cannot be reached.' }).waitFor();
    // What does not answer is asked less and less often.
    const [first = 0, second = 0, third = 0] = files;
    expect(third - second).toBeGreaterThan(second - first);
    isAway = false;
    await page.getByRole('grid').waitFor();
    await shows(() => page.getByRole('alert').count(), 0);
    expect(here.complaints).toEqual([]);
  });

  test('before its script is there, the page shows the first screen at its own address alone', async () => {
    for (const [place, cards, loading] of [
      ['', 1, 0],
      ['#/', 1, 0],
      ['#/data/Thing?limit=5', 0, 1],
    ] as const) {
      await using here = await visit(duet.url, { isFirst: true });
      const { page } = here;
      await page.route(/\.js$/, (route) => route.abort());
      await page.goto(`${duet.url}/${place}`);
      await page.locator('main :is(.cards, .empty)').waitFor();
      expect([
        place,
        await page.locator('main .cards').count(),
        await page.locator('main').getByText('Loading…').count(),
      ]).toEqual([place, cards, loading]);
      expect(here.complaints).toEqual([]);
    }
  });

  test('who comes back to a view whose part of the console arrives just then sees it', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    const part = Promise.withResolvers<void>();
    const fetched = Promise.withResolvers<string>();
    await page.route(/\/records-\w+\.js$/, async (route) => {
      fetched.resolve(route.request().url());
      await part.promise;
      await route.continue();
    });
    const loading = page.getByRole('status').filter({ hasText: 'Loading…' });
    await here.go('#/');
    await here.go(form);
    const url = await fetched.promise;
    await here.go('#/');
    await loading.waitFor({ state: 'detached' });
    // A browser that is busy: what is to be done after the next frame waits.
    await page.evaluate(`
      window.held = [];
      window.own = { requestAnimationFrame, setTimeout };
      window.requestAnimationFrame = () => 0;
      window.setTimeout = (step) => held.push(step);
    `);
    await here.go(form);
    await loading.waitFor();
    part.resolve();
    await page.evaluate(`import('${url}').then(() => {
      Object.assign(window, own);
      for (const step of held) step();
    })`);
    await page.locator('#field-nick').waitFor();
    expect(here.complaints).toEqual([]);
  });
});
