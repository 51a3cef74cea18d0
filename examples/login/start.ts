/** `npm start`: the page and its login at one address, and Duet at another, which believes the tokens of the first. */

import { join } from 'node:path';
import { AUDIENCE, openAuth } from './auth.ts';
import page from './page.html';

const here = import.meta.dir;
const folder = process.env['DATA_FOLDER'] ?? join(here, 'data');
const [port, duetPort] = [process.env['PORT'] ?? '3000', process.env['DUET_PORT'] ?? '4000'];
const origin = `http://127.0.0.1:${port}`;
const api = `http://127.0.0.1:${duetPort}`;

const auth = await openAuth(folder, origin);

// In a folder where the package is installed, the command is `duet`.
const duet = Bun.spawn([join(here, '../../bin/duet.cjs'), 'serve'], {
  env: {
    PATH: process.env['PATH'],
    PORT: duetPort,
    DUET_SCHEMA: join(here, 'notes.graphql'),
    DATABASE_URL: `sqlite:${join(folder, 'notes.db')}`,
    AUTH_JWKS_URL: `${origin}/api/auth/jwks`,
    AUTH_ISSUER: origin,
    AUTH_AUDIENCE: AUDIENCE,
    CORS_ORIGINS: origin,
  },
  stdout: 'inherit',
  stderr: 'inherit',
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => duet.kill(signal));
duet.exited.then((code) => process.exit(code));
const isReady = () =>
  fetch(`${api}/readyz`).then(
    ({ ok }) => ok,
    () => false,
  );
while (!(await isReady())) await Bun.sleep(50);

Bun.serve({
  hostname: '127.0.0.1',
  port,
  development: false,
  routes: {
    '/': page,
    '/api/auth/*': (request) => auth.handler(request),
    // Where the page finds Duet.
    '/address': () => new Response(api),
  },
});
console.log(`Open ${origin}`);
