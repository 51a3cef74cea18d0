/** What the API reference shows of parameters, types and places: in words and colours that raise no questions. */

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { browsing, service, shows, visit } from './browser.ts';

browsing('the API reference', () => {
  let duet: Awaited<ReturnType<typeof service>>;
  beforeAll(async () => {
    duet = await service('sqlite');
  });
  afterAll(() => duet.end());

  test('parameters have examples of the fields that there are, and are off until somebody wants them', async () => {
    await using here = await visit(duet.url, { isDrawn: true });
    const { page } = here;
    await here.go('#/reference');
    const frame = page.frameLocator('iframe[title="API reference"]');
    await frame.getByRole('link', { name: /List users/ }).click({ timeout: 45_000 });
    const section = frame
      .locator('section', { has: frame.getByRole('heading', { name: 'List users' }) })
      .last();
    await section.getByText('GET /users?include=posts&posts[limit]=3').waitFor();
    // Not that a list has one element at least, nor of which other property something is a copy.
    expect(await section.getByText('1…').count()).toBe(0);
    const either = section.locator('.property-heading', { has: page.getByText('or', { exact: true }) });
    await either.getByText('array of UserWhere').first().waitFor();
    const example = section
      .getByRole('listitem')
      .filter({ has: page.getByText('where', { exact: true }) })
      .getByRole('button', { name: 'Example' })
      .first();
    await example.focus();
    await section.getByText('{"name":{"eq":"text"}}').first().waitFor();
    await section.getByRole('button', { name: 'Test Request (get /users)' }).click();
    const answered = page.waitForResponse((response) => new URL(response.url()).pathname === '/users');
    await frame
      .getByRole('dialog')
      .getByRole('button', { name: /^Send get request/ })
      .click();
    expect(new URL((await answered).url()).search).toBe('');
    expect(here.complaints).toEqual([]);
  });

  test('in the dark no corner shows what is behind it, and a place that was gone to has no frame', async () => {
    await using here = await visit(duet.url, { isDrawn: true, colorScheme: 'dark' });
    const { page } = here;
    await here.go('#/reference');
    const frame = page.frameLocator('iframe[title="API reference"]');
    const link = frame.getByRole('link', { name: /List users/ });
    await link.waitFor({ timeout: 45_000 });
    // Whoever comes by an address is at the beginning of the page, which has the focus.
    await shows(() => page.evaluate("document.activeElement.matches('main:focus-visible')"), true);
    expect(await page.evaluate('getComputedStyle(document.activeElement).borderRadius')).toBe('0px');
    await link.press('Enter');
    const section = frame
      .locator('section', { has: frame.getByRole('heading', { name: 'List users' }) })
      .last();
    const footer = section.locator('.request-card > .scalar-card-footer');
    await footer.waitFor();
    const corners = await footer.evaluate((each: any) => {
      const styles = (of: any) => each.ownerDocument.defaultView.getComputedStyle(of);
      const card = styles(each.parentElement);
      const inside =
        Number.parseFloat(card.borderBottomLeftRadius) - Number.parseFloat(card.borderBottomWidth);
      return [`${inside}px`, styles(each).borderBottomLeftRadius, styles(each).borderBottomRightRadius];
    });
    expect(new Set(corners).size).toBe(1);
    const focused = await section.evaluate((each: any) => {
      each.tabIndex = -1;
      each.focus();
      return [
        each.matches(':focus-visible'),
        each.ownerDocument.defaultView.getComputedStyle(each).outlineStyle,
      ];
    });
    expect(focused).toEqual([true, 'none']);
    expect(here.complaints).toEqual([]);
  });
});
