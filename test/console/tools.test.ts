/** GraphiQL, the API reference, the diagram and the plots: each as a person uses it; what asks for data. */

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { browsing, service, shows, visit } from './browser.ts';
import { museum } from './museum.ts';

/** Where a line of the diagram runs behind a box. */
const behind = `(() => {
  const boxes = [...document.querySelectorAll('.diagram .box')].map((each) => [
    each.querySelector('.name').textContent,
    each.querySelector('.body').getBoundingClientRect(),
  ]);
  return [...document.querySelectorAll('.diagram path.edge')].flatMap((edge) =>
    Array.from({ length: 99 }, (_, at) => {
      const point = edge.getPointAtLength(((at + 1) / 100) * edge.getTotalLength());
      const { x, y } = point.matrixTransform(edge.getScreenCTM());
      return boxes.filter(([, box]) => x > box.left + 2 && x < box.right - 2 && y > box.top + 2 && y < box.bottom - 2);
    }).flat().map(([name]) => name),
  );
})()`;

// On both databases the answers are the same, and data.test.ts shows that what is made of them is.
browsing('tools, on sqlite', () => {
  let duet: Awaited<ReturnType<typeof service>>;
  let other: Awaited<ReturnType<typeof service>>;
  beforeAll(async () => {
    [duet, other] = await Promise.all([service('sqlite'), service('sqlite', museum)]);
  });
  afterAll(() => Promise.all([duet.end(), other.end()]));

  test('GraphiQL runs what a view would ask, and has the explorer and the docs', async () => {
    await using here = await visit(duet.url, { isDrawn: true });
    const { page } = here;
    await here.go('#/data/Book?pages[gt]=400');
    await page.getByText('Dune').waitFor();
    await page.getByRole('link', { name: 'Open in GraphiQL' }).click();
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
    // What it asks by itself is of this page, too.
    await page.getByRole('link', { name: 'Requests' }).click();
    await page
      .getByRole('row', { name: /^POST \/graphql query IntrospectionQuery this page/ })
      .first()
      .waitFor();
    expect(here.complaints).toEqual([]);
  });

  test('the reference calls the service', async () => {
    await using here = await visit(duet.url, { isDrawn: true });
    const { page } = here;
    await here.go('#/reference');
    const frame = page.frameLocator('iframe[title="API reference"]');
    await frame.getByRole('link', { name: /List users/ }).click({ timeout: 45_000 });
    // What is answered without a wish for more: no record has another in it.
    const sample = frame
      .locator('section', { has: frame.getByRole('heading', { name: 'List users' }) })
      .last()
      .locator('.response-card pre');
    const record = { id: 1, name: 'text', email: 'somebody@example.com' };
    await shows(async () => JSON.parse((await sample.textContent()) ?? ''), [record]);
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

  test('the plots follow /metrics: rates, latencies and errors, by route and by operation', async () => {
    await using here = await visit(duet.url, { isDrawn: true });
    const { page } = here;
    await here.go('#/operate/metrics');
    const routes = page.getByRole('region', { name: 'By route', exact: true });
    await routes.waitFor();
    const rest = page
      .getByRole('region', { name: 'REST', exact: true })
      .getByRole('article', { name: 'REST' });
    await shows(() => rest.locator('pre').textContent(), `curl '${duet.url}/metrics'`);
    await rest.locator('.cost', { hasText: /^[\d.]+ ms · [\d.]+ KB/ }).waitFor();
    await Promise.all([
      ...Array.from({ length: 30 }, (_, at) => duet.json('GET', `/books/${at < 10 ? 999 : 1}`)),
      duet.json('POST', '/graphql', { query: 'query Pages { books { pages } }' }),
    ]);
    const row = routes.getByRole('row', { name: /^GET \/books\/\{id\}/ });
    await row.waitFor();
    let cells: string[] = [];
    // A third of them asked for a book that there is not; while they come, it may be any part of those that were counted.
    await shows(async () => {
      cells = await row.locator('td.int').allTextContents();
      const [rate = 0, , , , refused = 0, errors] = cells.map((text) => Number.parseFloat(text));
      // That is no error of the service.
      return refused > 0 && Math.abs(rate - 3 * refused) < 0.25 && errors === 0;
    }, true);
    expect(cells).toHaveLength(6);
    const [, p50, p95, p99] = cells.map((text) => Number.parseFloat(text));
    expect(cells[1]).toEndWith(' ms');
    expect(p50).toBeLessThanOrEqual(p95 as number);
    expect(p95).toBeLessThanOrEqual(p99 as number);
    const operations = page.getByRole('region', { name: 'By GraphQL operation', exact: true });
    await operations.getByRole('row', { name: /^query Pages/ }).waitFor();
    await page.getByRole('img', { name: /^Requests per second, at most [1-9]/ }).waitFor();
    // How high a line is can be read, and what there is none of has no line.
    const highest = page.getByRole('region', { name: 'Requests per second' }).locator('.scaled span').first();
    expect(Number.parseFloat((await highest.textContent()) ?? '')).toBeGreaterThan(0);
    expect(await page.locator('path.bad').count()).toBe(0);
    expect(await page.locator('.plot.large path.second').count()).toBeGreaterThan(1);
    // What the page itself reads is no use of the service.
    expect(await routes.getByText('GET /metrics').count()).toBe(0);
    expect(here.complaints).toEqual([]);
  });

  test('the panel below is dragged, moved with keys and folded, and stays so', async () => {
    await using here = await visit(other.url, { isDrawn: true });
    const { page } = here;
    await here.go('#/data/Hall');
    const text = page.getByRole('region', { name: 'REST and GraphQL' }).locator('pre').first();
    const edge = page.getByRole('separator', { name: 'Height of the panel' });
    /** How many lines of text there are between its edges: whole ones. */
    const height = () =>
      text.evaluate((each: any) => {
        const { lineHeight, borderTopWidth } = each.ownerDocument.defaultView.getComputedStyle(each);
        const inside = each.getBoundingClientRect().height - 2 * Number.parseFloat(borderTopWidth);
        return Number((inside / Number.parseFloat(lineHeight)).toFixed(1));
      });
    await text.waitFor();
    const before = await height();
    expect(before).toBe(Math.round(before));
    const { x = 0, y = 0 } = (await edge.boundingBox()) ?? {};
    await page.mouse.move(x + 50, y + 4);
    await page.mouse.down();
    await page.mouse.move(x + 50, y - 36);
    await page.mouse.up();
    await shows(height, before + 2);
    await edge.focus();
    await page.keyboard.press('ArrowDown');
    await shows(height, before + 1);
    await page.reload();
    await shows(height, before + 1);
    await page.getByRole('button', { name: 'REST and GraphQL' }).click();
    await text.waitFor({ state: 'detached' });
    expect(here.complaints).toEqual([]);
  });

  test('the diagram shows fields and relations, moves and zooms, and leads to the data', async () => {
    await using here = await visit(other.url, { isDrawn: true });
    const { page } = here;
    await here.go('#/schema');
    const picture = page.getByLabel('Types and their relations');
    // What would be too small to read is left out: then there is room for keys and relations.
    await page.setViewportSize({ width: 1280, height: 640 });
    await picture.getByText('keeper').waitFor();
    await shows(() => picture.getByText('inspectedAt').count(), 0);
    expect(
      Number(/scale\((.*)\)/.exec((await picture.locator('> g').getAttribute('transform')) ?? '')?.[1]),
    ).toBeGreaterThanOrEqual(0.85);
    await page.getByRole('searchbox', { name: 'Show only' }).fill('museum');
    await shows(() => picture.locator('.box .name').allTextContents(), ['Museum', 'Hall']);
    await page.getByRole('searchbox', { name: 'Show only' }).fill('');
    await page.getByRole('button', { name: 'All fields' }).click();
    await picture.getByText('inspectedAt').waitFor();
    // Also where the panel stands beside it, which has an edge of its own there.
    await page.setViewportSize({ width: 1920, height: 900 });
    await shows(() => picture.locator('path.edge').first().isVisible(), true);
    await page.setViewportSize({ width: 1280, height: 900 });
    const dock = page.getByRole('region', { name: 'REST and GraphQL' });
    const described = /^[\d.]+ ms · [\d.]+ KB/;
    for (const [door, asked] of [
      ['REST', '/openapi.json'],
      ['GraphQL', '__schema'],
    ] as const) {
      const article = dock.getByRole('article', { name: door });
      await article.locator('pre', { hasText: asked }).waitFor();
      await article.locator('.cost', { hasText: described }).waitFor();
    }
    await shows(() => picture.locator('.edge').count(), 5);
    expect(await page.evaluate(behind)).toEqual([]);
    await shows(
      () => picture.locator('.line.deprecated').allTextContents(),
      ['Deprecated: Nobody knows it.oldNumberString'],
    );
    const camera = () => picture.locator('> g').getAttribute('transform');
    await shows(async () => (await camera()) === 'translate(0 0) scale(1)', false);
    // A window that has changed is drawn anew in the frames that follow, however long each takes.
    await page.evaluate(
      'new Promise((end) => { let left = 5; const next = () => (left-- > 0 ? requestAnimationFrame(next) : end()); next(); })',
    );
    const before = await camera();
    await page.getByRole('button', { name: 'Zoom in' }).click();
    await shows(async () => (await camera()) === before, false);
    const nearer = await camera();
    const { x = 0, y = 0, height = 0 } = (await picture.boundingBox()) ?? {};
    await page.mouse.move(x + 10, y + height - 10);
    await page.mouse.down();
    await page.mouse.move(x + 70, y + height - 50, { steps: 4 });
    await page.mouse.up();
    await shows(async () => (await camera()) === nearer, false);
    await picture.focus();
    await page.keyboard.press('0');
    await shows(camera, before);
    await picture.getByRole('link', { name: 'Exhibit: its data' }).click();
    await page.getByRole('heading', { name: 'Exhibit', exact: true }).waitFor();
    expect(here.complaints).toEqual([]);
  });
});

browsing('tools', () => {
  let duet: Awaited<ReturnType<typeof service>>;
  let other: Awaited<ReturnType<typeof service>>;
  beforeAll(async () => {
    [duet, other] = await Promise.all([service('sqlite'), service('sqlite', museum)]);
  });
  afterAll(() => Promise.all([duet.end(), other.end()]));

  test('the keyboard leaves the editor of GraphiQL, and Ctrl K works in it', async () => {
    await using here = await visit(duet.url, { isDrawn: true });
    const { page } = here;
    await here.go('#/graphiql');
    const frame = page.frameLocator('iframe[title="GraphiQL"]');
    const editor = frame.locator('.graphiql-query-editor');
    await editor.locator('.view-line').first().click();
    const isInside = () => editor.locator(':focus').count();
    await shows(isInside, 1);
    // It says how.
    await frame.getByText('Escape and then Tab leaves').waitFor();
    await page.keyboard.press('Escape');
    for (let tabs = 0; tabs < 8 && (await isInside()) > 0; tabs++) await page.keyboard.press('Tab');
    expect(await isInside()).toBe(0);
    await editor.locator('.view-line').first().click();
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog', { name: 'Go to' }).waitFor();
    expect(here.complaints).toEqual([]);
  });

  test('on a telephone GraphiQL has its buttons above the query and the answer below it, each as wide as there is room', async () => {
    await using here = await visit(duet.url, { isDrawn: true, viewport: { width: 360, height: 740 } });
    const { page } = here;
    await here.go('#/graphiql');
    const frame = page.frameLocator('iframe[title="GraphiQL"]');
    await frame.locator('.view-line').first().waitFor();
    await frame.getByRole('button', { name: /Execute query/ }).click();
    await frame.locator('.result-window').getByText('"data"').waitFor();
    const box = async (part: string) =>
      (await frame.locator(part).first().boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
    const [run, query, answer] = [
      await box('.graphiql-execute-button'),
      await box('.graphiql-query-editor .monaco-editor'),
      await box('.result-window'),
    ];
    expect(run.y + run.height).toBeLessThanOrEqual(query.y);
    expect(query.y + query.height).toBeLessThanOrEqual(answer.y);
    for (const { x, width } of [query, answer]) {
      expect(width).toBeGreaterThan(260);
      expect(x + width).toBeLessThanOrEqual(360);
    }
    expect(here.complaints).toEqual([]);
  });

  test('a place in the reference stands in the address: it is gone back to, reloaded, and opened, also alone', async () => {
    await using here = await visit(duet.url, { isDrawn: true });
    const { page } = here;
    await here.go('#/data/Book');
    await page.getByRole('link', { name: 'API reference' }).click();
    const frame = page.frameLocator('iframe[title="API reference"]');
    const hash = () => page.evaluate('location.hash');
    const isInSight = (name: string) =>
      frame
        .getByRole('heading', { name })
        .evaluate((each: any) => Math.abs(each.getBoundingClientRect().top - 150) < 150);
    const users = frame.getByRole('link', { name: /List users/ });
    await users.click({ timeout: 45_000 });
    await shows(hash, '#/reference/tag/user/GET/users');
    await frame.getByRole('link', { name: /Create one user/ }).click();
    await shows(hash, '#/reference/tag/user/POST/users');
    await shows(() => isInSight('Create one user'), true);
    await page.goBack();
    await shows(hash, '#/reference/tag/user/GET/users');
    await shows(() => isInSight('List users'), true);
    await page.reload();
    await shows(() => isInSight('List users'), true);
    await shows(hash, '#/reference/tag/user/GET/users');
    // The way in is one step back, however far one has read.
    await page.goBack();
    await shows(hash, '#/reference/description/introduction');
    await page.goBack();
    await page.getByRole('heading', { name: 'Book', exact: true }).waitFor();
    await page.goto(`${duet.url}/_console/reference#/reference/tag/book/POST/books`);
    await shows(() => page.url(), `${duet.url}/#/reference/tag/book/POST/books`);
    await shows(() => isInSight('Create one book'), true);
    expect(here.complaints).toEqual([]);
  });

  test('in the dark all cards of the reference have one colour', async () => {
    await using here = await visit(duet.url, { isDrawn: true, colorScheme: 'dark' });
    const { page } = here;
    await here.go('#/reference');
    const frame = page.frameLocator('iframe[title="API reference"]');
    await frame.getByRole('link', { name: /List users/ }).click({ timeout: 45_000 });
    const section = frame
      .locator('section', { has: frame.getByRole('heading', { name: 'List users' }) })
      .last();
    await section.getByRole('button', { name: 'Test Request (get /users)' }).waitFor();
    const colours = await section
      .locator('.scalar-card')
      .evaluateAll((cards: any[]) =>
        cards.map((each) => each.ownerDocument.defaultView.getComputedStyle(each).backgroundColor),
      );
    expect(new Set(colours)).toEqual(new Set(['rgb(20, 22, 27)']));
    expect(here.complaints).toEqual([]);
  });

  test('on a telephone, lines to different types run beside each other, at the side of the boxes and in sight', async () => {
    await using here = await visit(other.url, { isDrawn: true, viewport: { width: 360, height: 740 } });
    const { page } = here;
    await here.go('#/schema');
    await page.locator('path.edge').first().waitFor();
    await shows(() => page.locator('path.edge').count(), 5);
    expect(await page.evaluate(behind)).toEqual([]);
    const rights = await page
      .locator('path.edge')
      .evaluateAll((all: any[]) => all.map((each) => Math.round(each.getBoundingClientRect().right)));
    expect(Math.max(...rights)).toBeLessThan(360);
    expect(new Set(rights).size).toBeGreaterThan(1);
    expect(here.complaints).toEqual([]);
  });
});
