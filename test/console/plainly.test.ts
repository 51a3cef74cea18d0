/** What the pages of operators and histories say in plain words: what is waited for, hidden, measured, or there already. */

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { browsing, service, shows, visit } from './browser.ts';

const sdl = `
type Order @resource @journal(keep: "1d")
  @allow(to: [READ, UPDATE, HISTORY], role: "clerk")
{
  id: ID!
  what: String!
  cost: Int @allow(to: [READ], role: "boss") @allow(to: [UPDATE], role: "clerk")
  hint: String @allow(to: [READ], role: "clerk") @allow(to: [UPDATE], role: "boss")
}
`;
const data = { orders: [{ what: 'A lamp' }] };
const logic = `
export default {
  Order: {
    async afterUpdate() {
      throw new Error('the mail server is away');
    },
  },
};
`;

browsing('pages of operators', () => {
  let duet: Awaited<ReturnType<typeof service>>;
  beforeAll(async () => {
    duet = await service('sqlite', { sdl, data, logic });
  });
  afterAll(() => duet.end());

  test('a job that waits for an earlier one says so, and so does one whose turn has not come', async () => {
    for (const what of ['A chair', 'A table']) await duet.json('PUT', '/orders/1', { what });
    await shows(
      async () => (await duet.json('GET', '/_duet/jobs')).jobs[0]?.error,
      'the mail server is away',
    );
    await using here = await visit(duet.url);
    const { page } = here;
    await here.go('#/operate/jobs');
    await page
      .getByRole('row', { name: /^Order.afterUpdate 1 waiting 0 .* after the earlier job of the same name/ })
      .waitFor();
    const job = {
      id: '1',
      of: 'Order.afterUpdate 1',
      state: 'waiting',
      attempt: 0,
      at: '2025-01-02T03:04:05.678Z',
    };
    await page.route('**/_duet/jobs', (route) =>
      route.fulfill({ json: { waiting: 1, failed: 0, more: false, jobs: [job] } }),
    );
    await page.getByRole('button', { name: 'Refresh' }).click();
    await page.getByRole('row', { name: /^Order.afterUpdate 1 waiting 0 .* when its turn comes/ }).waitFor();
    expect(here.complaints).toEqual([]);
  });

  test('what a caller may not read is hidden in the history, too', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    await here.go('#/operate/access?role=clerk');
    await page
      .getByRole('row', { name: 'Order.cost no same as the type all same as the type hidden from them' })
      .waitFor();
    await page
      .getByRole('row', { name: 'Order.hint all same as the type no same as the type same as the type' })
      .waitFor();
    // To be hidden is no right.
    await here.go('#/operate/access');
    await page.getByRole('row', { name: /^Order.cost no .* hidden from them$/ }).waitFor();
    await page.getByText('lets somebody who is not signed in do anything').waitFor();
    expect(here.complaints).toEqual([]);
  });

  test('a version that is stored already says so where others can be restored; the first state stands under "after"', async () => {
    for (const what of ['Twice', 'Once', 'Twice']) await duet.json('PUT', '/orders/1', { what });
    await using here = await visit(duet.url);
    const { page } = here;
    await here.go('#/data/Order/record/1/history');
    const [last, before, same] = [0, 1, 2].map((at) =>
      page.locator('ol.history > li').nth(at).locator('header'),
    );
    await last?.getByText('current', { exact: true }).waitFor();
    await before?.getByRole('button', { name: 'Restore' }).waitFor();
    await same?.getByText('same as current but for its time', { exact: true }).waitFor();
    expect(await same?.getByRole('button').count()).toBe(0);
    const oldest = page.locator('ol.history > li').last();
    await oldest.getByText('as it was before the history begins').waitFor();
    expect(await oldest.locator('thead th').allTextContents()).toEqual(['field', 'after']);
    expect(await oldest.getByRole('row', { name: 'what A lamp' }).locator('td').getAttribute('data-of')).toBe(
      'after',
    );
    expect(here.complaints).toEqual([]);
  });

  test('one sample is a dot in its plot; on a telephone, tables are shaded where they go on', async () => {
    await using here = await visit(duet.url, { viewport: { width: 360, height: 740 } });
    const { page } = here;
    let readings = 0;
    await page.route('**/metrics', (route) => {
      readings++;
      // The third is never answered.
      if (readings > 2) return;
      const of = 'route="/orders",method="GET"';
      const lines = [
        `duet_requests_total{${of},status="200"} ${readings}`,
        `duet_request_duration_seconds_bucket{${of},le="0.005"} ${readings}`,
        `duet_request_duration_seconds_bucket{${of},le="+Inf"} ${readings}`,
      ];
      return route.fulfill({ contentType: 'text/plain', body: lines.join('\n') });
    });
    await here.go('#/operate/metrics');
    const table = page.getByRole('region', { name: 'By route, table' });
    await table.waitFor();
    const drawn = (path: string) =>
      page.locator(`.plot ${path}`).evaluateAll((all: any[]) => all.map((each) => each.getAttribute('d')));
    // Three of latency, one of requests, and two in the row: each at the right edge, where now is.
    expect(await drawn('.dot')).toEqual(Array(6).fill(expect.stringMatching(/^M100\.0,[\d.]+h0$/)));
    expect(await drawn('path:not(.floor, .dot)')).toEqual([]);
    const shaded = () =>
      table.evaluate((each: any) => ['data-left', 'data-right'].map((side) => each.hasAttribute(side)));
    await shows(shaded, [false, true]);
    await table.evaluate((each: any) => each.scrollTo(40, 0));
    await shows(shaded, [true, true]);
    await table.evaluate((each: any) => each.scrollTo(9999, 0));
    await shows(shaded, [true, false]);
    await page
      .getByText('By route, whole requests; by operation, the execution alone; both estimated.')
      .waitFor();
    expect(here.complaints).toEqual([]);
  });
});
