/** What the page does: people sign up, in and out with better-auth, and what is theirs is read from Duet with its tokens. */

import { createAuthClient } from 'better-auth/client';
import { jwtClient } from 'better-auth/client/plugins';

interface Note {
  readonly text: string;
}

const auth = createAuthClient({ plugins: [jwtClient()] });
const address = await (await fetch('/address')).text();

/** Kept in memory alone: the session is a cookie that no script can read, and gives another whenever one is needed. */
let token: string | undefined;

/** Asks Duet. A token lives for minutes; when it is taken no more, the session is asked for another, once. */
async function ask(path: string, init: RequestInit = {}): Promise<Response> {
  const send = async () => {
    token ??= (await auth.token()).data?.token;
    const headers = new Headers(init.headers);
    if (token !== undefined) headers.set('Authorization', `Bearer ${token}`);
    return fetch(address + path, { ...init, headers });
  };
  const response = await send();
  if (response.status !== 401 || token === undefined) return response;
  token = undefined;
  return send();
}

function part<T extends HTMLElement>(selector: string): T {
  const found = document.querySelector<T>(selector);
  if (!found) throw new Error(`the page has no ${selector}`);
  return found;
}

const login = part<HTMLFormElement>('#login');
const write = part<HTMLFormElement>('#write');

/** What is there for whoever is signed in now. */
async function show(problem = ''): Promise<void> {
  const user = (await auth.getSession()).data?.user;
  const response = user && (await ask('/notes?sort=-id&limit=50'));
  const notes: Note[] = response?.ok ? await response.json() : [];
  part('#problem').textContent = problem || (response && !response.ok ? await reason(response) : '');
  part('#who').textContent = user?.email ?? '';
  part('ul').replaceChildren(
    ...notes.map(({ text }) => Object.assign(document.createElement('li'), { textContent: text })),
  );
  login.hidden = user !== undefined;
  part('main').hidden = user === undefined;
}

async function reason(response: Response): Promise<string> {
  return (await response.json()).detail;
}

login.addEventListener('submit', async (event) => {
  event.preventDefault();
  const data = new FormData(login);
  const [email, password] = [String(data.get('email')), String(data.get('password'))];
  const isNew = event.submitter?.getAttribute('value') === 'up';
  const { error } = isNew
    ? await auth.signUp.email({ email, password, name: email })
    : await auth.signIn.email({ email, password });
  if (!error) login.reset();
  await show(error?.message);
});

part('#out').addEventListener('click', async () => {
  await auth.signOut();
  token = undefined;
  await show();
});

write.addEventListener('submit', async (event) => {
  event.preventDefault();
  const response = await ask('/notes', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(Object.fromEntries(new FormData(write))),
  });
  if (response.ok) write.reset();
  await show(response.ok ? '' : await reason(response));
});

await show();
