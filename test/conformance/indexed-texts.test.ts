/** Texts that an index has are as long as every database's index can hold: the same on both, and told as what it is. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, openApp, sharedPostgres } from '../app.ts';

const sdl = `
  type Person @resource @unique(fields: ["first", "last"]) {
    id: ID!
    mail: String @unique
    alias: String @unique @caseless
    first: String
    last: String
    about: String @index
    free: String
  }
  type Room @resource { code: String! @key  name: String @index  beds: [Bed!]! }
  type Bed @resource { code: String! @key  room: Room }
`;

/** Of so many bytes, which no database can make shorter. */
function noise(bytes: number, letters = 3): string {
  let [text, state] = ['', bytes];
  while (text.length < Math.floor(bytes / letters)) {
    state = (state * 1103515245 + 12345) % 2147483648;
    text += String.fromCodePoint(
      (letters === 3 ? 0x4e00 : 0x61) + ((state >> 8) % (letters === 3 ? 19_000 : 26)),
    );
  }
  return text + 'x'.repeat(bytes % letters);
}

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  beforeAll(async () => {
    app = await openApp(database, { sdl });
  });
  afterAll(() => app.close());
  const told = ({ status, body }: any) =>
    body?.errors?.map((each: any) => `${each.pointer} ${each.code}`) ?? status;

  const fields: [string, number][] = [
    ['mail', 2600],
    ['alias', 2600],
    ['first', 1300],
    ['about', 2600],
  ];
  test.each(fields)('%s has at most %d bytes', async (name, most) => {
    const record = (bytes: number) => ({
      [name]: noise(bytes),
      ...(name === 'first' && { last: noise(1300) }),
    });
    const made = await app.rest('POST', '/persons', record(most));
    expect(made.status).toBe(201);
    const fault = [`#/${name} LENGTH`];
    const { id } = made.body;
    for (const bytes of [most + 1, 9000, 100_000]) {
      expect(told(await app.rest('POST', '/persons', record(bytes)))).toEqual(fault);
      expect(told(await app.rest('PUT', `/persons/${id}`, { [name]: noise(bytes) }))).toEqual(fault);
      const many = {
        method: 'PUT',
        path: '/persons',
        where: { id: { eq: id } },
        atMost: 1,
        body: { [name]: noise(bytes) },
      };
      expect((await app.rest('POST', '/transaction', { operations: [many] })).body.errors[0].code).toBe(
        'LENGTH',
      );
      const { errors } = await app.graphql(
        `mutation($text: String) { updatePerson(id: ${id}, ${name}: $text) { id } }`,
        { text: noise(bytes) },
      );
      expect(errors?.[0].extensions.errors).toMatchObject([{ pointer: `#/${name}`, code: 'LENGTH' }]);
    }
    if (name === 'mail')
      expect(told(await app.rest('POST', '/persons?upsert=mail', { mail: noise(5000) }))).toEqual(fault);
    // Where no index has it, a text may be as long as a body.
    expect((await app.rest('PUT', `/persons/${id}`, { free: noise(100_000) })).status).toBe(200);
    expect(
      (await app.rest('GET', `/persons?${name}=${encodeURIComponent(noise(most))}&fields=id`)).body,
    ).toEqual([{ id }]);
    expect((await app.rest('DELETE', `/persons/${id}`)).status).toBe(204);
  });

  test('what grows when letter case is taken away counts as it is kept', async () => {
    // One letter, which is two.
    const alias = 'և'.repeat(651);
    expect(told(await app.rest('POST', '/persons', { alias }))).toEqual(['#/alias LENGTH']);
    expect((await app.rest('POST', '/persons', { free: alias, alias: 'և'.repeat(650) })).status).toBe(201);
  });

  test('a key counts with what is found beside it', async () => {
    const [long, longer] = [noise(1300), noise(1536)];
    expect((await app.rest('POST', '/rooms', { code: long, name: noise(1300) })).status).toBe(201);
    expect(told(await app.rest('POST', '/rooms', { code: 'a', name: noise(1301) }))).toEqual([
      '#/name LENGTH',
    ]);
    expect(told(await app.rest('POST', '/rooms', { code: longer }))).toEqual(['#/code LENGTH']);
    expect((await app.rest('POST', '/beds', { code: long, roomId: long })).status).toBe(201);
    expect(told(await app.rest('POST', '/beds', { code: longer }))).toEqual(['#/code LENGTH']);
  });
});

test('an index of somebody else refuses with a conflict, and not as if something were taken', async () => {
  const url = await (await sharedPostgres()).database();
  const app = await openApp('postgres', { sdl, url });
  const admin = new Bun.SQL(url, { max: 1 });
  await admin.unsafe('CREATE INDEX ON "Person" ("free")');
  await admin.close();
  for (const bytes of [3000, 30_000]) {
    const { status, body } = await app.rest('POST', '/persons', { free: noise(bytes) });
    expect([status, body.code, body.detail]).toEqual([409, 'CONFLICT', expect.not.stringContaining('taken')]);
  }
  await app.close();
});
