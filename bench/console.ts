/**
 * How fast the console is in Chromium: `npx bun bench/console.ts`. What is served is read over a slow line; a list of 50 rows; another
 * order of 500 rows with 20 columns. Times of a machine that does nothing else; no test asserts them.
 */

import { type Browser, chromium } from 'playwright-core';
import { buildConsole } from '../test/console/build.ts';
import { Folder, Server } from '../test/process.ts';

const ROUNDS = 5;
const columns = Array.from({ length: 18 }, (_, at) => `column${at}`);
const sdl = `type Thing @resource { id: ID! title: String! ${columns.map((name) => `${name}: String`).join(' ')} }`;
const record = (at: number) => ({
  title: `Thing ${at}`,
  ...Object.fromEntries(columns.map((name, of) => [name, `${name} ${(at * 7919 + of * 31) % 1000}`])),
});
const data = { things: Array.from({ length: 1000 }, (_, at) => record(at)) };

await buildConsole();
const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium-headless-shell',
  args: ['--headless', '--no-sandbox', '--disable-gpu'],
});
try {
  using shipped = new Folder();
  await using small = await Server.start(shipped);
  using folder = new Folder({ 'schema.graphql': sdl, 'data.json': JSON.stringify(data) });
  await using large = await Server.start(folder);
  const rows = [
    ['first useful content, 400 ms and 50 kB/s', 1500, () => firstContent(browser, small.url)],
    ['a list of 50 rows is useful', 600, () => list(browser, large.url)],
    ['500 rows × 20 columns in another order', 200, () => order(browser, large.url)],
  ] as const;
  for (const [what, most, measure] of rows) {
    const found: number[] = [];
    for (let round = 0; round < ROUNDS; round++) found.push(await measure());
    console.log(`${what}: ${found.map(Math.round).sort((a, b) => a - b)} ms, at most ${most}`);
  }
} finally {
  await browser.close();
}

/** When the types that are served can be read. */
async function firstContent(browser: Browser, url: string): Promise<number> {
  const context = await browser.newContext();
  const page = await context.newPage();
  const tools = await context.newCDPSession(page);
  await tools.send('Network.emulateNetworkConditions', {
    offline: false,
    latency: 400,
    downloadThroughput: 50_000,
    uploadThroughput: 50_000,
  });
  await page.goto(url, { waitUntil: 'commit' });
  const painted: number = await page.evaluate(`new Promise((resolve) => {
    const look = () => {
      const [paint] = performance.getEntriesByName('first-contentful-paint');
      const card = document.querySelector('main .card h2');
      const isSeen = paint && card && getComputedStyle(card).visibility === 'visible';
      if (isSeen) resolve(performance.now());
      else requestAnimationFrame(look);
    };
    look();
  })`);
  await context.close();
  return painted;
}

/** From the address to the last row, in a browser that has the files of the console. */
async function list(browser: Browser, url: string): Promise<number> {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${url}/#/data/Thing?limit=50`);
  await page.locator('tbody tr').nth(49).waitFor();
  await page.goto('about:blank');
  await page.goto(`${url}/#/data/Thing?limit=50`, { waitUntil: 'commit' });
  const ms: number = await page.evaluate(`new Promise((resolve) => {
    const look = () => document.querySelectorAll('tbody tr').length >= 50
      ? requestAnimationFrame(() => resolve(performance.now()))
      : requestAnimationFrame(look);
    look();
  })`);
  await context.close();
  return ms;
}

/** From the click to the frame that shows the new order. */
async function order(browser: Browser, url: string): Promise<number> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  await page.goto(`${url}/#/data/Thing?limit=500`);
  await page.getByText('500 records').waitFor();
  const ms: number = await page.evaluate(`new Promise((resolve) => {
    const first = () => document.querySelector('tbody tr td')?.textContent;
    const before = first();
    setTimeout(() => resolve(NaN), 30_000);
    const head = [...document.querySelectorAll('th button.head')].find((each) => each.textContent.startsWith('column1'));
    const began = performance.now();
    head.click();
    const look = () => first() !== before && first() !== undefined
      ? requestAnimationFrame(() => resolve(performance.now() - began))
      : requestAnimationFrame(look);
    look();
  })`);
  await context.close();
  return ms;
}
