/** The page at `/`: every resource is there, its links lead somewhere, and every command on it works when pasted. */

import { afterAll, expect, test } from 'bun:test';
import { openApp, shipped } from './app.ts';

const app = await openApp('sqlite');
afterAll(() => app.close());

const response = await app.fetch('/');
const html = await response.text();
const text = html
  .replaceAll('&quot;', '"')
  .replaceAll('&#x27;', "'")
  .replaceAll('&lt;', '<')
  .replaceAll('&gt;', '>')
  .replaceAll('&amp;', '&');

test('is a page that names every resource', () => {
  expect(response.headers.get('Content-Type')).toBe('text/html; charset=utf-8');
  for (const type of shipped.sdl.matchAll(/^type (\w+) @resource/gm))
    expect(html).toContain(`<h2>${type[1]}</h2>`);
});

const links = [...html.matchAll(/href="([^"]+)"/g)].map((match) => match[1] ?? '');
test.each(links)('the link %s leads somewhere', async (link) => {
  expect((await app.fetch(link)).status).toBe(200);
});

const commands = [...text.matchAll(/(?:^|<pre>)curl (\S+?)(?: -H '([^']+)' -d '(.+?)')?(?:<\/pre>.*)?$/gm)];
test('there are commands for both doors', () => {
  expect(commands.length).toBeGreaterThan(30);
});

test.each(commands.map(([, url = '', header, body]) => [url, header, body] as const))(
  'curl %s works',
  async (url, header, body) => {
    const path = url.slice('http://duet.test'.length);
    const [name = '', value = ''] = (header ?? '').split(': ');
    const init =
      body === undefined
        ? {}
        : { method: 'POST', headers: { [name]: value }, body: body.replaceAll(`'\\''`, "'") };
    const answer = await app.fetch(path, init);
    expect(answer.status).toBeLessThan(300);
    expect(((await answer.json()) as any).errors).toBeUndefined();
  },
);
