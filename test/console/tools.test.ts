/** GraphiQL, the API reference, the diagram, the plots and the token: each as a person uses it. */

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { browsing, service, until, visit } from './browser.ts';
import { museum } from './museum.ts';

browsing('tools', () => {
  let duet: Awaited<ReturnType<typeof service>>;
  let other: Awaited<ReturnType<typeof service>>;
  beforeAll(async () => {
    [duet, other] = await Promise.all([service('sqlite'), service('sqlite', museum)]);
  });
  afterAll(() => Promise.all([duet.end(), other.end()]));

  test('GraphiQL runs what a view would ask, and has the explorer and the docs', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    await here.go('#/data/Book?pages[gt]=400');
    await page.getByText('Dune').waitFor();
    await page.getByRole('link', { name: 'GraphiQL' }).last().click();
    const frame = page.frameLocator('iframe[title="GraphiQL"]');
    await frame.locator('.view-line', { hasText: 'booksConnection' }).first().waitFor();
    await frame.getByRole('button', { name: /Execute query/ }).click();
    await frame.locator('.result-window').getByText('"Dune"').waitFor();
    await frame.getByRole('button', { name: 'Show GraphiQL Explorer' }).click();
    await frame.getByText('booksAggregate').first().waitFor();
    await frame.getByRole('button', { name: 'Show Documentation Explorer' }).click();
    await frame
      .getByRole('button', { name: 'Mutation' })
      .or(frame.getByRole('link', { name: 'Mutation' }))
      .first()
      .waitFor();
    expect(here.complaints).toEqual([]);
  });

  test('the reference calls the service', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    await here.go('#/reference');
    const frame = page.frameLocator('iframe[title="API reference"]');
    await frame.getByRole('link', { name: /List users/ }).click({ timeout: 45_000 });
    await frame.getByRole('button', { name: 'Test Request (get /users)' }).click();
    const answered = page.waitForResponse((response) => new URL(response.url()).pathname === '/users');
    await frame
      .getByRole('dialog')
      .getByRole('button', { name: /^Send get request/ })
      .click();
    expect((await answered).status()).toBe(200);
    await frame.getByText('Ada Lovelace').first().waitFor();
    expect(here.complaints).toEqual([]);
  });

  test('the diagram shows fields and relations, moves and zooms, and leads to the data', async () => {
    await using here = await visit(other.url);
    const { page } = here;
    await here.go('#/schema');
    const picture = page.getByLabel('Types and their relations');
    await picture.getByText('inspectedAt').waitFor();
    expect(await picture.locator('.edge').count()).toBe(5);
    expect(await picture.locator('.line.deprecated').allTextContents()).toEqual(['oldNumberString']);
    const camera = () => picture.locator('> g').getAttribute('transform');
    await until(async () => (await camera()) !== 'translate(0 0) scale(1)');
    const before = await camera();
    await page.getByRole('button', { name: 'Zoom in' }).click();
    await until(async () => (await camera()) !== before);
    const nearer = await camera();
    await page.mouse.move(700, 800);
    await page.mouse.down();
    await page.mouse.move(640, 760, { steps: 4 });
    await page.mouse.up();
    await until(async () => (await camera()) !== nearer);
    await picture.focus();
    await page.keyboard.press('0');
    await until(async () => (await camera()) === before);
    await picture.getByRole('link', { name: 'Exhibit: its data' }).click();
    await page.getByRole('heading', { name: 'Exhibit', exact: true }).waitFor();
    expect(here.complaints).toEqual([]);
  });

  test('the plots follow /metrics, and say so where there is none', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    let round = 0;
    // The text as Prometheus would read it, from a service that is asked ten times a second.
    await page.route('**/metrics', (route) =>
      route.fulfill({ contentType: 'text/plain; version=0.0.4', body: metrics(20 * round++) }),
    );
    await here.go('#/live');
    const routes = page.getByRole('region', { name: 'By route', exact: true });
    await routes.getByRole('row', { name: /GET \/books\/\{id\}/ }).waitFor();
    const text = (await routes.getByRole('row', { name: /GET \/books/ }).textContent()) ?? '';
    // All of them within the bucket from 1 to 5 ms: the middle of it is the median.
    expect(text).toContain('3.0 ms');
    const operations = page.getByRole('region', { name: 'By GraphQL operation', exact: true });
    await operations.getByRole('row', { name: /query Books/ }).waitFor();
    await page.unroute('**/metrics');
    await page.route('**/metrics', (route) => route.fulfill({ status: 404, body: '{}' }));
    await page.getByText('There are no metrics').waitFor();
    expect(here.complaints).toEqual([]);
  });

  test('a token is asked for when the service wants one, sent with every request, and kept nowhere', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    const seen: (string | undefined)[] = [];
    await page.route('**/books*', (route) => {
      const given = route.request().headers()['authorization'];
      seen.push(given);
      return given
        ? route.continue()
        : route.fulfill({
            status: 401,
            headers: { 'WWW-Authenticate': 'Bearer' },
            json: { code: 'UNAUTHENTICATED', detail: 'Who are you?' },
          });
    });
    await here.go('#/data/Book');
    await page.getByRole('dialog', { name: 'Who is asking' }).getByLabel('Token').fill('abc.def');
    await page.getByRole('button', { name: 'Use it' }).click();
    await page.getByText('Dune').waitFor();
    expect(seen.at(-1)).toBe('Bearer abc.def');
    const kept = await page.evaluate(
      'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href])',
    );
    expect(kept).not.toContain('abc');
    expect(await page.getByRole('article', { name: 'REST' }).locator('pre').textContent()).not.toContain(
      'abc',
    );
    expect(here.complaints).toEqual([]);
  });

  test('who may not write is told so, and is not asked to try again', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    await page.route('**/books', (route) =>
      route.request().method() === 'POST'
        ? route.fulfill({ status: 403, json: { code: 'FORBIDDEN', detail: 'Not for you.' } })
        : route.continue(),
    );
    await here.go('#/data/Book/new');
    await page.getByLabel('title').fill('Mine');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByText('Not for you.').waitFor();
    await page.getByRole('link', { name: 'Cancel' }).click();
    await page.getByText('read-only for you').waitFor();
    expect(await page.getByRole('link', { name: 'New' }).count()).toBe(0);
    expect(here.complaints).toEqual([]);
  });
});

function metrics(count: number): string {
  return `# HELP duet_requests_total Requests.
# TYPE duet_requests_total counter
duet_requests_total{route="/books/{id}",method="GET",status="200"} ${count}
duet_request_duration_seconds_bucket{route="/books/{id}",method="GET",le="0.001"} 0
duet_request_duration_seconds_bucket{route="/books/{id}",method="GET",le="0.005"} ${count}
duet_request_duration_seconds_bucket{route="/books/{id}",method="GET",le="+Inf"} ${count}
duet_graphql_operations_total{operation="Books",type="query",outcome="ok"} ${count}
duet_graphql_operation_duration_seconds_bucket{operation="Books",type="query",le="+Inf"} ${count}
`;
}
