/** Drives Debian's Chromium as a person would, and hears of everything that goes wrong in it. */

import { describe, expect } from 'bun:test';
import { existsSync } from 'node:fs';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { type DatabaseKind, sharedPostgres } from '../app.ts';
import { atTheEnd } from '../ending.ts';
import { Folder, Server } from '../process.ts';
import { buildConsole } from './build.ts';

/** Without windows, menus and what is loaded for them, the same pages take half of the processor's time. */
const CHROMIUM = '/usr/bin/chromium-headless-shell';
const FLAGS =
  '--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync';

/**
 * Beside every page Chromium loads two more, which it would show below its address bar: they took a fifth of the processor's time.
 * Only the last such list counts, so what playwright switches off stands here as well.
 */
const OFF = [
  'WebUIOmniboxPopup',
  'WebUIOmniboxAimPopup',
  'AimEnabled',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsFirstBalancedModeAutoEnable',
  'HttpsUpgrades',
  'LensOverlay',
  'MediaRouter',
  'NetworkTimeServiceQuerying',
  'OptimizationHints',
  'PaintHolding',
  'PreconnectToSearch',
  'ThirdPartyStoragePartitioning',
];

/** No script runs for long enough to be worth what its compilers take. */
const SCRIPTS = '--js-flags=--no-opt --no-maglev';

const installed = existsSync(CHROMIUM);

if (!installed) {
  const cure = `There is no ${CHROMIUM}. \`apt-get install chromium\` installs it.`;
  if (process.env['CI']) throw new Error(cure);
  console.error(`The console was not tested in a browser. ${cure}`);
}

/** Tests that need a browser: not run where there is none, and then it has been said. */
export const browsing = describe.skipIf(!installed);

/** No page has a frame before it is told to. */
const UNDRAWN = ['--enable-begin-frame-control', '--run-all-compositor-stages-before-draw'];

/** One that draws, and one that does not. */
const launched = new Map<boolean, Promise<Browser>>();

function browser(isDrawn: boolean): Promise<Browser> {
  const known = launched.get(isDrawn);
  if (known) return known;
  const launching = chromium.launch({
    executablePath: CHROMIUM,
    args: [...FLAGS.split(' '), ...(isDrawn ? [] : UNDRAWN), SCRIPTS, `--disable-features=${OFF}`],
  });
  launched.set(isDrawn, launching);
  // Not with the file that needed it first: the next one goes on with its pages.
  atTheEnd(async () => (await launching).close());
  return launching;
}

/** Pages that nobody visits any more, by the wishes they were opened with: a new one takes twice as much of the processor. */
const idle = new Map<string, Page>();

const WINDOW = { width: 1280, height: 900 };

async function opened(options: BrowserContextOptions, isDrawn: boolean): Promise<Page> {
  // What moves, or changes its colour bit by bit, would stay where it begins.
  const still = isDrawn ? {} : ({ reducedMotion: 'reduce' } as const);
  const context = await (await browser(isDrawn)).newContext({ viewport: WINDOW, ...still, ...options });
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const page = await context.newPage();
  return isDrawn ? page : undrawn(page);
}

/** Another page instead of this one, which can be told to have a frame. */
async function undrawn(page: Page): Promise<Page> {
  const context = page.context();
  const session = await context.newCDPSession(page);
  const { browserContextId } = (await session.send('Target.getTargetInfo')).targetInfo;
  const opens = context.waitForEvent('page');
  await session.send('Target.createTarget', {
    url: 'about:blank',
    ...(browserContextId && { browserContextId }),
    enableBeginFrameControl: true,
  });
  const other = await opens;
  await page.close();
  return other;
}

const FRAME_MS = 20;

/**
 * Has a page do what it does for every frame, again and again, until it is told to stop: style, layout, and what scripts wait for;
 * but not draw, which would take a quarter of the processor's time.
 */
function frames(page: Page): () => Promise<void> {
  let isOver = false;
  const tick = async () => {
    const session = await page.context().newCDPSession(page);
    // Not among the commands that playwright knows. What a page that has crashed makes of it tells nothing.
    const next = () =>
      session.send('HeadlessExperimental.beginFrame' as never, { noDisplayUpdates: true } as never);
    for (; !isOver && !page.isClosed(); await Bun.sleep(FRAME_MS)) await next().catch(() => {});
    await session.detach();
  };
  const ended = tick().catch(() => {});
  return () => {
    isOver = true;
    return ended;
  };
}

/** Leaves nothing of a visit behind but the way back, which nobody goes that far. */
async function emptied(page: Page): Promise<void> {
  for (const event of HEARD) page.removeAllListeners(event);
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  for (const other of page.context().pages()) if (other !== page) await other.close();
  await page.evaluate('localStorage.clear(); sessionStorage.clear()');
  // What was typed and not saved would keep it.
  page.on('dialog', (dialog) => dialog.accept());
  await page.goto('about:blank');
  page.removeAllListeners('dialog');
}

/** What tests listen to. */
const HEARD = ['console', 'dialog', 'pageerror', 'request', 'response'] as const;

export interface Visit extends AsyncDisposable {
  readonly page: Page;
  /** What was complained of so far: errors of scripts, breaches of the policy, requests to other hosts. */
  readonly complaints: string[];
  /** Opens a place of the console, such as `#/data/Book`. */
  go(place: string): Promise<void>;
}

export interface Wishes extends BrowserContextOptions {
  /** In a browser that has fetched nothing yet. */
  readonly isFirst?: boolean;
  /**
   * Drawn, for what is seen, and for frames inside of the page. Elsewhere nobody looks: no animation begins there, such as that by
   * which what takes long is shown, and pages that are opened beside it have no frames at all, without which nothing can be clicked.
   */
  readonly isDrawn?: boolean;
}

export async function visit(url: string, wishes: Wishes = {}): Promise<Visit> {
  const { isFirst = false, isDrawn = false, ...options } = wishes;
  const like = JSON.stringify([isDrawn, options]);
  const page = (isFirst ? undefined : idle.get(like)) ?? (await opened(options, isDrawn));
  const stop = isDrawn ? undefined : frames(page);
  if (!isFirst) idle.delete(like);
  // Whoever was here before may have made it wider.
  const { viewport: size = WINDOW } = options;
  if (size && !Bun.deepEquals(page.viewportSize(), size)) await page.setViewportSize(size);
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    // Of a status that tells of a fault the browser complains too; the test knows which it expects.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      complaints.push(message.text());
  });
  page.on('request', (request) => {
    if (!request.url().startsWith(url) && !/^(data|blob):/.test(request.url()))
      complaints.push(request.url());
  });
  page.setDefaultTimeout(30_000);
  return {
    page,
    complaints,
    async go(place) {
      await page.goto(`${url}/${place}`);
      // In a narrow window it is there, but not in sight.
      await page.locator('nav a[href="#/schema"]').waitFor({ state: 'attached' });
    },
    async [Symbol.asyncDispose]() {
      try {
        await emptied(page);
        // A page takes one frame at a time.
        await stop?.();
        idle.set(like, page);
      } catch {
        // It has crashed, or a dialog stands before it.
        await page.context().close();
      }
    },
  };
}

/** Reads again and again until it is as expected, for half a minute at the most: a page shows what it does a moment later. */
export async function shows<T>(read: () => T | Promise<T>, expected: T): Promise<void> {
  for (let tries = 0; tries < 600; tries++) {
    if (Bun.deepEquals(await read(), expected)) return;
    await Bun.sleep(50);
  }
  expect<unknown>(await read()).toEqual(expected);
}

export interface Deployment {
  readonly sdl?: string;
  readonly data?: unknown;
  /** `logic.ts` */
  readonly logic?: string;
  /** Settings as in the environment. */
  readonly env?: Record<string, string>;
}

/** The real service, in a process of its own. */
export async function service(database: DatabaseKind, { sdl, data, logic, env }: Deployment = {}) {
  await buildConsole();
  const folder = new Folder({
    ...(sdl !== undefined && { 'schema.graphql': sdl }),
    ...(data !== undefined && { 'data.json': JSON.stringify(data) }),
    ...(logic !== undefined && { 'logic.ts': logic }),
  });
  const url = database === 'sqlite' ? 'sqlite:duet.db' : await (await sharedPostgres()).database();
  const settings = { DATABASE_URL: url, ...env };
  let server = await Server.start(folder, settings);
  return {
    url: server.url,
    /** Away, as one that has crashed is. */
    async stop() {
      await server[Symbol.asyncDispose]();
    },
    /** Back again, at the same address. */
    async start() {
      server = await Server.start(folder, { ...settings, PORT: new URL(server.url).port });
    },
    async json(method: string, path: string, body?: unknown): Promise<any> {
      const response = await fetch(server.url + path, {
        method,
        ...(body !== undefined && {
          headers: { 'Content-Type': 'application/json' },
          body: JSON.stringify(body),
        }),
      });
      return response.status === 204 ? undefined : response.json();
    },
    async end() {
      await server[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}
