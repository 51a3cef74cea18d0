/** `npm start`: Duet, the typed client that it prints, and the page, which is built with that and served. */

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

const here = import.meta.dir;
const folder = process.env['DATA_FOLDER'] ?? join(here, 'data');
const [port, duetPort] = [process.env['PORT'] ?? '3000', process.env['DUET_PORT'] ?? '4000'];
const origin = `http://127.0.0.1:${port}`;
const api = `http://127.0.0.1:${duetPort}`;
// In a folder where the package is installed, the command is `duet`.
const command = join(here, '../../bin/duet.cjs');

mkdirSync(folder, { recursive: true });
const duet = Bun.spawn([command, 'serve'], {
  env: {
    PATH: process.env['PATH'],
    PORT: duetPort,
    DUET_SCHEMA: join(here, 'tasks.graphql'),
    DATABASE_URL: `sqlite:${join(folder, 'tasks.db')}`,
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

const client = Bun.spawn([command, 'client', '--from', api], { stderr: 'inherit' });
await Bun.write(join(here, 'duet.ts'), await new Response(client.stdout).text());

const { outputs } = await Bun.build({
  entrypoints: [join(here, 'page.html')],
  target: 'browser',
  minify: true,
  define: { 'process.env.NODE_ENV': '"production"', API: JSON.stringify(api) },
});
const files = new Map(outputs.map((output) => [output.path.replace(/^\.\//, '/'), output]));

Bun.serve({
  hostname: '127.0.0.1',
  port,
  fetch(request) {
    const { pathname } = new URL(request.url);
    const file = files.get(pathname === '/' ? '/page.html' : pathname);
    return file ? new Response(file) : new Response('There is nothing here', { status: 404 });
  },
});
console.log(`Open ${origin}`);
