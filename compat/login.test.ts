/** examples/login, started as its users start it: people sign up, in and out in Chromium, and see what is theirs. */

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { openAuth } from '../examples/login/auth.ts';
import { browsing, shows, visit } from '../test/console/browser.ts';
import { type Example, started } from './example.ts';

const PASSWORD = 'correct horse';

browsing('login', () => {
  let example: Example;
  beforeAll(async () => {
    example = await started('login');
  });
  afterAll(() => example?.[Symbol.asyncDispose]());

  /** Somebody in a browser of their own, and what they do there. */
  async function person(email: string) {
    const { page, complaints } = await visit(example.page, { isFirst: true, isDrawn: true });
    await page.goto(example.page);
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    return {
      page,
      async enter(how: 'Sign in' | 'Sign up', password = PASSWORD) {
        await page.getByLabel('E-mail').fill(email);
        await page.getByLabel('Password').fill(password);
        await page.getByRole('button', { name: how }).click();
      },
      isIn: () => page.getByText(`Signed in as ${email}`).waitFor(),
      async write(text: string) {
        await page.getByLabel('A new note').fill(text);
        await page.getByRole('button', { name: 'Write it down' }).click();
      },
      sees: (...notes: string[]) => shows(() => page.locator('li').allTextContents(), notes),
      isTold: (problem: string) => shows(() => page.getByRole('alert').textContent(), problem),
      async token(): Promise<string> {
        return (await (await page.request.get(`${example.page}/api/auth/token`)).json()).token;
      },
      async leave() {
        // That Duet has an address of its own is no complaint.
        expect(complaints.filter((each) => !each.startsWith(example.api))).toEqual([]);
        await page.context().close();
      },
    };
  }

  const asked = async (token: string, path: string, init: RequestInit = {}) => {
    const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` };
    const response = await fetch(example.api + path, { ...init, headers });
    return { status: response.status, headers: response.headers, body: (await response.json()) as any };
  };

  test('who signs up sees their own notes; signed out, none; signed in again, the same', async () => {
    const ann = await person('ann@example.com');
    await ann.enter('Sign in');
    await ann.isTold('Invalid email or password');
    await ann.enter('Sign up');
    await ann.isIn();
    await ann.write('of Ann');
    await ann.sees('of Ann');
    await ann.page.reload();
    await ann.isIn();
    await ann.sees('of Ann');
    await ann.page.getByRole('button', { name: 'Sign out' }).click();
    await ann.page.getByRole('button', { name: 'Sign in' }).waitFor();
    await ann.sees();
    expect(await ann.token()).toBeUndefined();
    await ann.enter('Sign in', 'wrong horse');
    await ann.isTold('Invalid email or password');
    await ann.enter('Sign in');
    await ann.isIn();
    await ann.sees('of Ann');
    await ann.leave();
  });

  test('a note is for whoever its token names, through either door', async () => {
    const [bob, cid] = [await person('bob@example.com'), await person('cid@example.com')];
    for (const each of [bob, cid]) {
      await each.enter('Sign up');
      await each.isIn();
    }
    await bob.write('of Bob');
    await bob.sees('of Bob');
    await cid.write('of Cid');
    await cid.sees('of Cid');
    const [mine, other] = [await bob.token(), await cid.token()];
    const [note] = (await asked(mine, '/notes')).body;
    expect((await asked(other, `/notes/${note.id}`)).status).toBe(404);
    expect((await asked(other, `/notes/${note.id}`, { method: 'DELETE' })).status).toBe(404);
    const query = JSON.stringify({ query: `{ note(id: ${note.id}) { text } notes { text } }` });
    expect((await asked(other, '/graphql', { method: 'POST', body: query })).body.data).toEqual({
      note: null,
      notes: [{ text: 'of Cid' }],
    });
    expect((await fetch(`${example.api}/notes`)).status).toBe(401);
    await Promise.all([bob.leave(), cid.leave()]);
  });

  test('what tokens are signed with is for nobody else to read', async () => {
    expect(statSync(join(example.folder, 'secret')).mode & 0o777).toBe(0o600);
    const { keys } = (await (await fetch(`${example.page}/api/auth/jwks`)).json()) as any;
    expect(keys.map(({ alg, d }: any) => [alg, d])).toEqual([['EdDSA', undefined]]);
  });

  test('a token that has expired is refused, and the page gets another without a word', async () => {
    const dan = await person('dan@example.com');
    await dan.enter('Sign up');
    await dan.isIn();
    await dan.write('of Dan');
    await dan.sees('of Dan');
    const [{ by: sub }] = (await asked(await dan.token(), '/notes')).body;
    // The issuer's own keys: nothing but the time is wrong with it.
    const { api } = await openAuth(example.folder, example.page);
    const now = Math.floor(Date.now() / 1000);
    const tokenUntil = async (exp: number) => (await api.signJWT({ body: { payload: { sub, exp } } })).token;
    const expired = await tokenUntil(now - 60);
    expect((await asked(await tokenUntil(now + 60), '/notes')).status).toBe(200);
    const refused = await asked(expired, '/notes');
    expect([refused.status, refused.body.code]).toEqual([401, 'UNAUTHENTICATED']);
    expect(refused.headers.get('WWW-Authenticate')).toContain('error="invalid_token"');

    let given = 0;
    await dan.page.route('**/api/auth/token', (route) =>
      given++ === 0 ? route.fulfill({ json: { token: expired } }) : route.continue(),
    );
    await dan.page.reload();
    await dan.sees('of Dan');
    expect(given).toBe(2);
    await dan.isTold('');
    await dan.leave();
  });
});
