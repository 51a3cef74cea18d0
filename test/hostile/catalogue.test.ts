/** The catalogue of attacks, sent byte by byte to a real server: each has its right outcome, and nothing is left of it. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { databases, sharedPostgres, shipped } from '../app.ts';
import { Folder, Server } from '../process.ts';
import { type Answer, attack, type Outcome, type Wanted } from './attack.ts';
import { bodyAttacks, THING } from './body-attacks.ts';
import { callerAttacks, SECRET } from './caller-attacks.ts';
import { graphqlAttacks } from './graphql-attacks.ts';
import { httpAttacks } from './http-attacks.ts';
import { restAttacks } from './rest-attacks.ts';

const attacks = [...httpAttacks, ...bodyAttacks, ...restAttacks, ...graphqlAttacks];
const collections = Object.keys(shipped.data).filter((name) => name !== 'greetings');

describe.each([...databases])('on %s', (database) => {
  let folder: Folder;
  let server: Server & { readonly url: string };
  const created: string[] = [];
  const before = new Map<string, unknown>();
  const read = async (path: string) => (await fetch(`${server.url}${path}`)).json();

  beforeAll(async () => {
    folder = new Folder({ 'schema.graphql': `${shipped.sdl}\n${THING}` });
    const DATABASE_URL =
      database === 'sqlite' ? `sqlite:${folder.file('duet.db')}` : await (await sharedPostgres()).database();
    server = await Server.start(folder, { DATABASE_URL, LIMIT_BODY_TIME: '300' });
    for (const name of collections) before.set(name, await read(`/${name}`));
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  test.each(attacks)('$name', async (each) => {
    const answers = await attack(server.url, each);
    created.push(
      ...answers.flatMap(({ status, headers }) => (status === 201 ? [headers.get('Location') ?? ''] : [])),
    );
    judge(each.outcome, answers);
  });

  test('afterwards all is as it was, but for what was acknowledged, and nothing has failed', async () => {
    for (const path of created)
      expect([path, (await fetch(server.url + path, { method: 'DELETE' })).status]).toEqual([path, 204]);
    for (const name of collections) expect([name, await read(`/${name}`)]).toEqual([name, before.get(name)]);
    expect(await read('/things')).toEqual([]);
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
    expect(server.log.filter(({ event }) => event === 'failure')).toEqual([]);
    expect(server.log.filter(({ status }) => status >= 500)).toEqual([]);
  });
});

describe('with callers', () => {
  test('every false credential is refused, and nothing but the header counts', async () => {
    const sdl = 'type Note @resource @allow(to: [READ], role: "reader") { id: ID!  title: String! }';
    using folder = new Folder({ 'schema.graphql': sdl, 'data.json': '{"notes":[{"id":1,"title":"x"}]}' });
    await using server = await Server.start(folder, { AUTH_SECRET: SECRET });
    for (const each of await callerAttacks()) {
      const answers = await attack(server.url, each);
      try {
        judge(each.outcome, answers);
      } catch (error) {
        throw new Error(each.name, { cause: error });
      }
    }
    expect(server.log.filter(({ event }) => event === 'failure')).toEqual([]);
  });
});

test('the catalogue is long, and names each of its attacks once', () => {
  expect(attacks.length).toBeGreaterThan(60);
  expect(new Set(attacks.map(({ name }) => name)).size).toBe(attacks.length);
});

function judge(outcome: Outcome, answers: Answer[]): void {
  if (typeof outcome === 'function') outcome(answers);
  else if (outcome === 'hung up') expect(answers).toEqual([]);
  else if (outcome === 'refused') {
    expect(answers.map(({ body }) => body)).toEqual(['']);
    expect(answers[0]?.status).toBeOneOf([400, 431, 505]);
  } else compare(outcome, answers);
}

function compare(outcome: Wanted | readonly Wanted[], answers: Answer[]): void {
  const wanted: readonly Wanted[] = 'status' in outcome ? [outcome] : outcome;
  expect(answers.map(({ status }) => status)).toEqual(wanted.map(({ status }) => status));
  for (const [at, { code, faults, body, headers }] of wanted.entries()) {
    const answer = answers[at];
    if (code !== undefined) expect(answer?.body.code ?? answer?.body.errors[0].extensions.code).toBe(code);
    if (code !== undefined && answer?.status === 200) expect(answer.body).not.toHaveProperty('data');
    if (faults) expect(answer?.body.errors.map(faultOf)).toEqual([...faults]);
    if (Array.isArray(body) || typeof body === 'string') expect(answer?.body).toEqual(body);
    else if (body !== undefined) expect(answer?.body).toMatchObject(body);
    for (const [name, value] of Object.entries(headers ?? {}))
      expect([name, answer?.headers.get(name)]).toEqual([name, value]);
  }
}

function faultOf({
  pointer,
  parameter,
  code,
}: {
  pointer?: string;
  parameter?: string;
  code: string;
}): string {
  return `${pointer ?? parameter}: ${code}`;
}
