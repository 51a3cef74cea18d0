/** The files for service managers and proxies are read by the programs that they are for, where those are installed. */

import { expect, test } from 'bun:test';
import { chmodSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import packageFile from '../../package.json' with { type: 'json' };
import { settings } from '../../src/config/settings.ts';
import { JSON_HEADERS } from '../app.ts';
import { freePort } from '../postgres.ts';
import { Folder, Server } from '../process.ts';

const root = join(import.meta.dir, '../..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');
/** Debian keeps servers in /usr/sbin. */
const find = (name: string) => Bun.which(name, { PATH: `${process.env['PATH']}:/usr/sbin` });

/** What a program says of a file, on both streams. */
function said(command: string[]): string {
  const { stdout, stderr } = Bun.spawnSync(command);
  return `${stdout}${stderr}`;
}

const systemd = find('systemd-analyze');

test.skipIf(!systemd)('systemd understands every line of the unit', () => {
  using folder = new Folder({ duet: '#!/bin/sh\n' });
  chmodSync(folder.file('duet'), 0o755);
  const unit = read('deploy/duet.service').replace('/usr/local/bin/duet', folder.file('duet'));
  const verify = (text: string) => {
    Bun.spawnSync(['sh', '-c', 'cat > "$0"', folder.file('duet.service')], { stdin: Buffer.from(text) });
    return said([systemd ?? '', 'verify', folder.file('duet.service')]);
  };
  expect(verify(unit)).toBe('');
  expect(verify(unit.replace('KillMode=mixed', 'KillMode=mixt'))).toContain('kill mode');
});

const JOURNALED = 'type Note @resource @journal(keep: "1d") { id: ID!  title: String! }';
const TLS = { tls: { rejectUnauthorized: false, serverName: 'api.example.com' } };

/** Starts a proxy, and asks through it: streams and sockets come through at once, and it tells who asks. */
async function expectProxy(
  folder: Folder,
  server: { readonly url: string },
  command: string[],
  ports: Ports,
) {
  const child = Bun.spawn(command, {
    cwd: folder.path,
    env: { PATH: process.env['PATH'] ?? '', HOME: folder.path },
    stdout: 'ignore',
    stderr: 'ignore',
  });
  const get = (path: string, headers: Record<string, string>) =>
    fetch(`https://127.0.0.1:${ports.tls}${path}`, {
      headers: { Host: 'api.example.com', ...headers },
      ...TLS,
    });
  try {
    for (let tries = 0; tries < 500; tries++)
      if (await get('/healthz', {}).catch(() => undefined)) break;
      else await Bun.sleep(20);
    const plain = await fetch(`http://127.0.0.1:${ports.plain}/notes`, {
      headers: { Host: 'api.example.com' },
      redirect: 'manual',
    });
    expect([301, 308]).toContain(plain.status);
    expect((await get('/metrics', {})).status).toBeOneOf([403, 404]);

    const stream = await get('/changes/notes', { Accept: 'text/event-stream', 'X-Request-Id': 'mine' });
    expect(stream.headers.get('X-Request-Id')).toBe('mine');
    const socket = new WebSocket(`wss://127.0.0.1:${ports.tls}/graphql`, {
      protocols: ['graphql-transport-ws'],
      headers: { Host: 'api.example.com' },
      ...TLS,
    } as Bun.WebSocketOptions);
    const messages: any[] = [];
    socket.onopen = () => socket.send('{"type":"connection_init"}');
    socket.onmessage = ({ data }) => {
      messages.push(JSON.parse(data));
      const query = 'subscription { noteChanges { after { title } } }';
      if (messages.length === 1)
        socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: { query } }));
    };
    const told = (async () => {
      let text = '';
      for await (const chunk of stream.body ?? []) {
        text += new TextDecoder().decode(chunk);
        if (text.includes('"title":"later"')) return true;
      }
      return text;
    })();
    // The subscription begins at some time: what is written until then is not for it.
    for (let tries = 0; tries < 200 && messages.length < 2; tries++) {
      const headers = { ...JSON_HEADERS, 'X-Forwarded-For': `198.51.100.${tries}` };
      await fetch(`${server.url}/notes`, { method: 'POST', headers, body: '{"title":"later"}' });
      await Bun.sleep(20);
    }
    expect(messages[1]?.payload).toEqual({ data: { noteChanges: { after: { title: 'later' } } } });
    expect(await told).toBe(true);
    socket.close();

    // Whatever a client claims, its own address is limited.
    const statuses: number[] = [];
    for (let n = 0; n < 20; n++)
      statuses.push((await get('/notes', { 'X-Forwarded-For': `203.0.113.${n}` })).status);
    expect([statuses[0], statuses.at(-1)]).toEqual([200, 429]);
  } finally {
    // Caddy waits for those who listen.
    child.kill('SIGKILL');
    await child.exited;
  }
}

interface Ports {
  readonly plain: number;
  readonly tls: number;
}

const behind = { TRUSTED_PROXIES: '127.0.0.1', RATE_LIMIT_ADDRESS: '15/60' };
const nginx = find('nginx');

test.skipIf(!nginx || !Bun.which('openssl'))('nginx ends TLS, and tells who asks', async () => {
  using folder = new Folder({ 'schema.graphql': JOURNALED, 'data.json': '{}' });
  const made = said(
    `openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=api.example.com -keyout ${folder.file('privkey.pem')} -out ${folder.file('fullchain.pem')}`.split(
      ' ',
    ),
  );
  expect([existsSync(folder.file('fullchain.pem')), made]).toEqual([true, expect.any(String)]);
  await using server = await Server.start(folder, behind);
  const ports = { plain: freePort(), tls: freePort() };
  const config = read('deploy/nginx.conf')
    .replace('listen 80;', `listen 127.0.0.1:${ports.plain};`)
    .replace('listen 443 ssl', `listen 127.0.0.1:${ports.tls} ssl`)
    .replace('server 127.0.0.1:4000', `server ${new URL(server.url).host}`)
    .replaceAll('/etc/ssl/api.example.com', folder.path);
  const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder.file(name)};`,
  );
  await Bun.write(
    folder.file('nginx.conf'),
    `daemon off; master_process off; error_log stderr; pid ${folder.file('pid')}; events {} http { access_log off; ${folders.join(' ')} ${config} }`,
  );
  const command = [nginx ?? '', '-e', 'stderr', '-c', folder.file('nginx.conf'), '-p', folder.path];
  await expectProxy(folder, server, command, ports);
});

const caddy = find('caddy');

test.skipIf(!caddy)('so does Caddy', async () => {
  using folder = new Folder({ 'schema.graphql': JOURNALED, 'data.json': '{}' });
  await using server = await Server.start(folder, behind);
  const ports = { plain: freePort(), tls: freePort() };
  // The authority that makes certificates is one of its own.
  const own = `{\n local_certs\n skip_install_trust\n admin off\n http_port ${ports.plain}\n https_port ${ports.tls}\n}\n`;
  const config = read('deploy/Caddyfile').replace('127.0.0.1:4000', new URL(server.url).host);
  await Bun.write(folder.file('Caddyfile'), own + config);
  const command = [caddy ?? '', 'run', '--adapter', 'caddyfile', '--config', folder.file('Caddyfile')];
  await expectProxy(folder, server, command, ports);
});

test('containers and clusters ask for what there is', () => {
  const documents = ['compose.yaml', 'deploy/kubernetes.yaml'].map(read).map((text) => Bun.YAML.parse(text));
  const [compose, kubernetes] = documents as [any, any[]];
  const [deployment, service, budget] = kubernetes;
  const [container] = deployment.spec.template.spec.containers;
  const labels = deployment.spec.template.metadata.labels;
  expect([service.spec.selector, budget.spec.selector.matchLabels]).toEqual([labels, labels]);
  expect(container.image).toEndWith(`:${packageFile.version}`);
  expect([container.readinessProbe, container.livenessProbe].map(({ httpGet }) => httpGet.path)).toEqual([
    '/readyz',
    '/healthz',
  ]);
  const dockerfile = read('Dockerfile');
  const uid = /^USER (\d+)$/m.exec(dockerfile)?.[1];
  expect(String(deployment.spec.template.spec.securityContext.runAsUser)).toBe(uid ?? '');
  const known = new Set<string>(Object.values(settings).map(({ env }) => env));
  const own = [
    ...Object.keys(compose.services.duet.environment),
    ...container.env.map(({ name }: { name: string }) => name),
    ...[...(/^ENV (.+)$/m.exec(dockerfile)?.[1] ?? '').matchAll(/(\w+)=/g)].map(([, name = '']) => name),
  ];
  // Comes with the release that has these files.
  known.add('DRAIN_DELAY');
  expect(own.filter((name) => !known.has(name))).toEqual([]);
});

test('the health check of the image tells a server that serves from one that does not', async () => {
  const [, script = ''] = /CMD \["bash", "-c", \\\n {2}("(?:[^"\\]|\\.)*")\]/.exec(read('Dockerfile')) ?? [];
  using folder = new Folder();
  const check = (port: string) =>
    Bun.spawn(['bash', '-c', JSON.parse(script)], {
      env: { PATH: process.env['PATH'] ?? '', PORT: port },
      stderr: 'ignore',
    }).exited;
  {
    await using server = await Server.start(folder);
    expect(await check(new URL(server.url).port)).toBe(0);
  }
  using down = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () => new Response(null, { status: 503 }),
  });
  expect(await check(String(down.port))).not.toBe(0);
  expect(await check(String(freePort()))).not.toBe(0);
});
