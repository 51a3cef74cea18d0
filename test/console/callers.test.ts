/** Who is asking: a service with authentication and rules, and what the console does with its 401 and its 403. */

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { headersOf, SECRET } from '../conformance/access-matrix.ts';
import { findings } from './axe.ts';
import { browsing, service, shows, visit } from './browser.ts';

const sdl = `
type Note @resource
  @allow(to: [READ])
  @allow(to: [CREATE, UPDATE], role: "authenticated", where: { by: { eq: { claim: "sub" } } })
{
  id: ID!
  by: String!
  text: String!
  draft: String @allow(to: [READ], role: "editor")
  grade: Int @allow(to: [CREATE, UPDATE], role: "editor")
}
type Plan @resource @allow(to: [READ], role: "authenticated") { id: ID! title: String! }
type Memo @resource @allow(to: [READ]) @allow(to: [UPDATE, DELETE], role: "authenticated") { id: ID! text: String! }
type Vault @resource @allow(to: [READ], role: "editor") { id: ID! title: String! }
type Draft @resource @allow(to: [READ], where: { isPublic: { eq: true } }) { id: ID! isPublic: Boolean! title: String! }
type Mutation {
  rest: String @action @allow(role: "authenticated")
  greet: String @action @allow
  publish(note: String): String @action @allow(role: "editor")
}
`;
const logic = 'export default { Mutation: { rest: () => null, greet: () => null, publish: () => null } };';
const data = {
  notes: [
    { by: 'ann', text: 'Of Ann' },
    { by: 'bob', text: 'Of Bob' },
  ],
  memos: [{ text: 'To keep' }],
  plans: [{ title: 'To rest' }],
  drafts: [{ isPublic: false, title: 'Of nobody' }],
};

async function tokenOf(sub: string, ...roles: string[]): Promise<string> {
  const { Authorization = '' } = await headersOf({ name: `console ${sub}`, claims: { sub, roles } });
  return Authorization.replace('Bearer ', '');
}

// On both databases the answers are the same, and data.test.ts shows that what is made of them is.
browsing('callers, on postgres', () => {
  let duet: Awaited<ReturnType<typeof service>>;
  beforeAll(async () => {
    duet = await service('postgres', { sdl, data, logic, env: { AUTH_SECRET: SECRET } });
  });
  afterAll(() => duet.end());

  test('a token is asked for when the service wants one, sent with every request, and kept for the tab alone', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    await here.go('');
    const card = (name: string) => page.getByRole('main').getByRole('article').filter({ hasText: name });
    await card('/plans').getByText('sign in to read').waitFor();
    expect(await card('/notes').getByText('sign in to read').count()).toBe(0);
    // It says what to do, and where.
    await page.getByRole('main').getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    // Nobody has asked for the records of a type yet: the panel tells of the schema.
    const dock = page.getByRole('region', { name: 'REST and GraphQL' });
    await dock.locator('pre', { hasText: '/openapi.json' }).waitFor();
    await card('/actions/rest').getByText('sign in to run').waitFor();
    expect(await card('/actions/greet').getByText('sign in to run').count()).toBe(0);
    // A lock in the menu, of types and of actions.
    const drawn = (name: string) =>
      page.getByRole('navigation').getByRole('link', { name, exact: true }).locator('path').getAttribute('d');
    expect(await drawn('rest')).toBe(await drawn('Plan'));
    expect(await drawn('greet')).not.toBe(await drawn('Plan'));
    // What everybody may read is there without one.
    await here.go('#/data/Note');
    await page.getByText('Of Bob').waitFor();
    await page.getByText('read-only for you').waitFor();
    // A field that it may not read takes nothing else away, through neither door.
    for (const door of ['REST', 'GraphQL']) {
      await page.getByRole('radio', { name: door }).check();
      await page.getByText('Both have the same records.').waitFor();
      await page.getByRole('gridcell', { name: 'hidden' }).nth(1).waitFor();
      expect(await page.getByRole('gridcell', { name: 'hidden' }).count()).toBe(2);
    }
    // Nobody is asked for it.
    const operation =
      (await page.getByRole('article', { name: 'GraphQL' }).locator('pre').textContent()) ?? '';
    expect([operation.includes('text'), operation.includes('draft')]).toEqual([true, false]);
    await page.getByRole('link', { name: 'Plan' }).click();
    // It is offered on the page, and stands in nobody's way.
    await page.getByRole('main').getByText('This takes a token or an API key.').waitFor();
    expect(await page.getByRole('dialog').count()).toBe(0);
    await page.getByRole('main').getByRole('button', { name: 'Sign in' }).click();
    const dialog = page.getByRole('dialog', { name: 'Sign in' });
    await dialog.getByText('duet key create').waitFor();
    // One that is not accepted is told there, once, and signs nobody in.
    await dialog.getByLabel('Token').fill('not.a.token');
    await dialog.getByRole('button', { name: 'Sign in' }).click();
    await dialog.getByRole('alert').filter({ hasText: 'neither a token nor an API key' }).waitFor();
    await dialog.getByLabel('Show').check();
    expect(await dialog.getByLabel('Token').getAttribute('type')).toBe('text');
    expect(await findings(page)).toEqual([]);
    expect(await page.getByRole('alert').count()).toBe(1);
    expect(await page.evaluate('JSON.stringify({ ...sessionStorage })')).toBe('{}');
    await page.keyboard.press('Escape');
    await page.getByRole('banner').getByRole('button', { name: 'Sign in' }).waitFor();
    // Of what it may not read, nothing is offered that reads.
    expect(await page.locator('.heading > .tools').textContent()).toBe('');
    await page.getByRole('main').getByRole('button', { name: 'Sign in' }).click();
    const token = await tokenOf('ann');
    const sent: (string | undefined)[] = [];
    page.on('request', (request) => {
      // Whether the service is there is asked by whoever it is, each ten seconds.
      if (!request.url().endsWith('/healthz')) sent.push(request.headers()['authorization']);
    });
    await dialog.getByLabel('Token').fill(token);
    await dialog.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('status').filter({ hasText: 'Signed in as ann' }).waitFor();
    await page.getByText('To rest').waitFor();
    await page.locator('.heading').getByRole('button', { name: 'Filter' }).waitFor();
    await page.getByText('Both have the same records.').waitFor();
    expect(sent.length).toBeGreaterThan(4);
    expect(new Set(sent)).toEqual(new Set([`Bearer ${token}`]));
    const kept = await page.evaluate('JSON.stringify([{ ...localStorage }, document.cookie, location.href])');
    expect(kept).not.toContain(token);
    const command = await page.getByRole('article', { name: 'REST' }).locator('pre').textContent();
    expect(command).toContain('$TOKEN');
    expect(command).not.toContain(token);
    // Who one is comes first, and how to be somebody else when it is asked for.
    await page.getByRole('button', { name: 'Account: ann' }).click();
    const account = page.getByRole('dialog', { name: 'Account' });
    const who = account.locator('dd');
    await shows(
      async () => (await who.allTextContents()).map((each) => each.replace(/^20.*UTC$/, 'a time')),
      ['ann', 'none', 'a time'],
    );
    expect(await account.getByLabel('Token').isVisible()).toBe(false);
    expect(await findings(page)).toEqual([]);
    expect(here.complaints).toEqual([]);
  });

  test('what the roles of the caller never allow is not offered, and of a record the service is asked', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    const refusals: number[] = [];
    page.on('response', (response) => response.status() >= 400 && refusals.push(response.status()));
    await here.go('');
    await page.getByRole('banner').getByRole('button', { name: 'Sign in' }).click();
    const dialog = page.getByRole('dialog', { name: 'Sign in' });
    await dialog.getByLabel('Token').fill(await tokenOf('ann'));
    await dialog.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('link', { name: 'Plan' }).first().click();
    await page.getByText('To rest').waitFor();
    await page.getByText('read-only for you').waitFor();
    expect(await page.getByRole('link', { name: 'New' }).count()).toBe(0);
    await page.evaluate("location.hash = '#/data/Plan/new'");
    await page.getByText('You may not create plans').waitFor();
    await page.evaluate("location.hash = '#/data/Note/record/2'");
    await page.getByText('you may not delete').waitFor();
    expect(await page.getByRole('button', { name: 'Delete' }).count()).toBe(0);
    expect(refusals).toEqual([]);
    // That the note is somebody else's, only the service knows.
    await page.getByRole('link', { name: 'Edit' }).click();
    // What it may never write is not asked for, and what it may not see is not said to be empty.
    await page.getByRole('textbox', { name: 'text' }).waitFor();
    expect(await page.locator('#field-grade').count()).toBe(0);
    await page.getByRole('heading', { name: 'Read-only' }).waitFor();
    expect(await page.getByRole('textbox', { name: 'draft' }).getAttribute('placeholder')).toBe('hidden');
    await page.getByRole('textbox', { name: 'text' }).fill('Of Ann now');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('alert').filter({ hasText: 'You may not update this note.' }).waitFor();
    await page.getByRole('link', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Discard changes' }).click();
    await page.getByText('read-only for you').waitFor();
    expect(refusals).toEqual([403]);
    await page.evaluate("location.hash = '#/data/Note/record/1'");
    await page.getByRole('link', { name: 'Edit' }).waitFor();
    expect((await duet.json('GET', '/notes/2')).text).toBe('Of Bob');
    expect(here.complaints).toEqual([]);
  });

  test('whoever views as another is offered what that one may do with a record', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    await here.go('#/operate/access?subject=bob');
    await page.getByRole('button', { name: 'Sign in' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Token').fill(await tokenOf('root', 'admin'));
    await dialog.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('button', { name: 'See the data as they do' }).click();
    await page.getByText('You see and do everything as bob').waitFor();
    const before = await duet.json('GET', '/notes');
    await page.evaluate("location.hash = '#/data/Note/record/1'");
    await page.getByText('read-only for you').waitFor();
    expect(await page.getByRole('link', { name: 'Edit' }).count()).toBe(0);
    await page.evaluate("location.hash = '#/data/Note/record/2'");
    await page.getByText('you may not delete').waitFor();
    await page.getByRole('link', { name: 'Edit' }).waitFor();
    // Nothing is written by asking.
    const asked = page.waitForResponse(
      (response) => response.request().postData()?.includes('deleteMemo') === true,
    );
    // A proxy that takes conditions off makes no difference.
    await page.route('**/*', (route) => {
      const { 'if-match': _, ...headers } = route.request().headers();
      return route.continue({ headers });
    });
    await page.evaluate("location.hash = '#/data/Memo/record/1'");
    expect((await (await asked).json()).errors[0].extensions.code).toBe('VERSION_CONFLICT');
    await page.getByRole('button', { name: 'Delete' }).waitFor();
    expect(await duet.json('GET', '/memos')).toEqual([{ id: 1, text: 'To keep' }]);
    expect(await duet.json('GET', '/notes')).toEqual(before);
    expect(here.complaints).toEqual([]);
  });
});

// Who may do what is held on both databases below both doors; what follows is the same on each.
browsing('callers', () => {
  let duet: Awaited<ReturnType<typeof service>>;
  beforeAll(async () => {
    duet = await service('sqlite', { sdl, data, logic, env: { AUTH_SECRET: SECRET } });
  });
  afterAll(() => duet.end());

  test('whoever is refused may sign in as somebody else: to try again is no help', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    await here.go('');
    await page.evaluate(`sessionStorage.setItem('duet.token', '${await tokenOf('ann')}')`);
    await page.reload();
    await page.evaluate("location.hash = '#/data/Vault'");
    const refusal = page.getByRole('main').getByRole('alert').filter({ hasText: 'FORBIDDEN' });
    await shows(() => refusal.getByRole('button').allTextContents(), [' Sign in as somebody else']);
  });

  test('an action that takes a token says so before anything is filled in, and so does one that is refused', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    await here.go('#/actions/rest');
    const main = page.getByRole('main');
    const told = main.getByText('Sign in to run rest');
    await told.waitFor();
    expect(await page.getByRole('button', { name: 'Run' }).count()).toBe(0);
    await main.getByRole('button', { name: 'Sign in' }).click();
    const dialog = page.getByRole('dialog', { name: 'Sign in' });
    await dialog.getByLabel('Token').fill(await tokenOf('ann'));
    await dialog.getByRole('button', { name: 'Sign in' }).click();
    await told.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Run' }).click();
    await page.getByText('rest has run.').waitFor();
    await page.evaluate("location.hash = '#/actions/publish'");
    await main.getByText('You may not run publish').waitFor();
    expect(await page.getByRole('textbox', { name: 'note' }).count()).toBe(0);
    expect(here.complaints).toEqual([]);
  });

  test('where nothing can be done to rows, keys select none, and leave the text to the browser', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    await here.go('#/data/Memo');
    await page.getByText('To keep').waitFor();
    await page.getByRole('searchbox').press('ArrowDown');
    await page.locator('td:focus').waitFor();
    for (const key of ['Space', 'Shift+ArrowDown', 'Control+a']) await page.keyboard.press(key);
    expect(await page.evaluate('getSelection().toString()')).toContain('To keep');
    expect(await page.getByRole('checkbox', { name: /^Select/ }).count()).toBe(0);
    expect(await page.locator('tr[aria-selected="true"]').count()).toBe(0);
    expect(await page.getByText(/\d rows? selected/).count()).toBe(0);
    await page.keyboard.press('?');
    await page.getByRole('dialog').getByText('select the row, where something can be done to it').waitFor();
    expect(here.complaints).toEqual([]);
  });

  test('a list in which the rules show nothing says so, and has everything in sight on a telephone', async () => {
    await using here = await visit(duet.url, { viewport: { width: 360, height: 740 } });
    const { page } = here;
    await here.go('#/data/Draft');
    await page.getByText('No drafts are visible to you').waitFor();
    await page.getByText('Some may be visible after you sign in.').waitFor();
    await page.getByRole('main').getByRole('button', { name: 'Sign in' }).waitFor();
    const wide = "['html', '.top'].filter((each) => document.querySelector(each).scrollWidth > 360)";
    expect(await page.evaluate(wide)).toEqual([]);
    // The toolbar has two rows.
    const tools = await page.locator('.heading > .tools').boundingBox();
    expect(tools?.height).toBeLessThan(90);
    // How requests are sent is chosen in the menu.
    const by = page.getByRole('group', { name: 'Requests by' });
    expect(await by.isVisible()).toBe(false);
    await page.getByRole('button', { name: 'Menu' }).click();
    await by.getByRole('radio', { name: 'GraphQL' }).check();
    await page.getByRole('button', { name: 'Menu' }).click();
    // While one filters, the code folds.
    await page.getByRole('button', { name: 'REST and GraphQL' }).click();
    const code = page.getByRole('article', { name: 'GraphQL' });
    await code.waitFor();
    await page.getByRole('button', { name: 'Filter' }).click();
    await code.waitFor({ state: 'hidden' });
    await page.keyboard.press('Escape');
    await code.waitFor();
    expect(here.complaints).toEqual([]);
  });

  test('the reference is used by whoever is signed in at the moment, and shows nobody the token', async () => {
    await using here = await visit(duet.url, { isDrawn: true });
    const { page } = here;
    const token = await tokenOf('ann');
    await here.go('#/reference');
    const frame = page.frameLocator('iframe[title="API reference"]');
    const nobody = frame.getByText('No authentication selected');
    await nobody.first().waitFor({ timeout: 45_000 });
    const sent = async () => {
      await frame.getByRole('link', { name: /List notes/ }).click({ timeout: 45_000 });
      await frame.getByRole('button', { name: 'Test Request (get /notes)' }).click();
      const answered = page.waitForResponse((response) => new URL(response.url()).pathname === '/notes');
      await frame
        .getByRole('dialog')
        .getByRole('button', { name: /^Send get request/ })
        .click();
      const answer = await answered;
      expect(answer.status()).toBe(200);
      return answer.request().headers()['authorization'];
    };
    expect(await sent()).toBe(undefined);
    await page.getByRole('banner').getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('dialog').getByLabel('Token').fill(token);
    await page.getByRole('dialog').getByRole('button', { name: 'Sign in' }).click();
    await frame.getByText('Authentication').first().waitFor();
    await shows(() => nobody.count(), 0);
    await frame.getByText('requests are sent with your token in the place of $TOKEN').first().waitFor();
    // It would open the search of the console.
    await frame
      .getByRole('button', { name: /Search/ })
      .first()
      .waitFor();
    expect(await frame.locator('kbd').filter({ visible: true }).count()).toBe(0);
    expect(await sent()).toBe(`Bearer ${token}`);
    expect(await frame.locator('body').innerHTML()).not.toContain(token);
    await page.getByRole('button', { name: 'Account: ann' }).click();
    await page.getByRole('dialog', { name: 'Account' }).getByRole('button', { name: 'Sign out' }).click();
    await nobody.first().waitFor();
    expect(await sent()).toBe(undefined);
    expect(here.complaints).toEqual([]);
  });

  test('a token that has run out is told on the page, which shows what is left to see', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    await here.go('#/data/Note');
    // As a reload finds it.
    await page.evaluate("sessionStorage.setItem('duet.token', 'duet_that_was_revoked')");
    await page.reload();
    const told = page.getByRole('main').getByText('Your token is no longer accepted');
    await told.waitFor();
    await page.getByText('Of Bob').waitFor();
    expect(await page.getByRole('dialog').count()).toBe(0);
    await page.getByRole('link', { name: 'Plan' }).click();
    await page.getByText('You are not signed in').waitFor();
    expect(await told.count()).toBe(1);
    expect(await page.getByRole('dialog').count()).toBe(0);
    await page.getByRole('main').getByRole('button', { name: 'Sign in' }).first().click();
    const dialog = page.getByRole('dialog', { name: 'Sign in' });
    await dialog.getByLabel('Token').fill(await tokenOf('ann'));
    await page.keyboard.press('Enter');
    await page.getByText('To rest').waitFor();
    expect(await told.count()).toBe(0);
    expect(here.complaints).toEqual([]);
  });

  test('the plots are for those who may read the metrics', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    await here.go('#/operate/metrics');
    await page.getByRole('main').getByRole('button', { name: 'Sign in' }).click();
    const dialog = page.getByRole('dialog', { name: 'Sign in' });
    await dialog.getByLabel('Token').fill(await tokenOf('ann'));
    await dialog.getByRole('button', { name: 'Sign in' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByText('This needs the role "metrics".').waitFor();
    // What would lead here again is not offered, nor is there anything to pause.
    const metrics = page.getByRole('navigation').getByRole('link', { name: 'Metrics' });
    expect(await metrics.count()).toBe(0);
    expect(await page.getByRole('button', { name: 'Pause' }).count()).toBe(0);
    await page.getByRole('main').getByRole('button', { name: 'Sign in as somebody else' }).click();
    const account = page.getByRole('dialog', { name: 'Account' });
    await account.getByLabel('token').fill(await tokenOf('watch', 'metrics'));
    await account.getByRole('button', { name: 'Sign in' }).click();
    // There are none until somebody asks for something.
    await shows(async () => {
      await duet.json('GET', '/notes');
      return page.getByRole('region', { name: 'Requests per second' }).count();
    }, 1);
    await metrics.waitFor();
    expect(here.complaints).toEqual([]);
  });
});
