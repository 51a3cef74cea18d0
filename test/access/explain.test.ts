/** What operators are told of the rules: `duet explain-access`, and a warning when the server starts. */

import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { command, Folder, Server } from '../process.ts';

const sdl = `
type User @resource
  @allow(to: [READ], where: { or: [{ public: { eq: true } }, { handle: { eq: { claim: "sub" } } }] })
  @allow(to: [UPDATE], role: "authenticated", where: { handle: { eq: { claim: "sub" } } })
  @allow(to: [DELETE], role: "admin", where: { not: { posts: { some: {} } } })
{
  id: ID!
  handle: String!
  public: Boolean!
  email: String @allow(to: [READ], role: "admin")
  posts: [Post!]!
}
type Post @resource @allow(to: [CREATE], role: "writer") @allow(to: [READ], role: "reader", where: { author: { public: { eq: true } } }) {
  id: ID!
  author: User @allow(to: [UPDATE], where: { id: { in: [1, 2] } })
}
type Vault @resource { id: ID! }
`;

async function explained(...args: string[]) {
  using folder = new Folder({ 'schema.graphql': sdl });
  const { stdout, stderr, exit } = await command(folder, ['explain-access', ...args]);
  return { lines: stdout.split('\n').slice(0, -1), stderr, exit };
}

test('the anonymous have no claims', async () => {
  expect(await explained()).toEqual({
    exit: 0,
    stderr: '',
    lines: [
      'anonymous      READ       CREATE  UPDATE     DELETE',
      'User           where (1)  no      no         no',
      'User.email     no         -       -          -',
      'Post           no         no      no         no',
      'Post.authorId  -          -       where (2)  -',
      'Vault          no         no      no         no',
      '(1) public eq true',
      '(2) id in 1, 2',
    ],
  });
});

test('who can see nothing for want of a claim writes nothing', async () => {
  const own = 'where: { owner: { eq: { claim: "sub" } } }';
  using folder = new Folder({
    'schema.graphql': `type Post @resource @allow(to: [READ], ${own}) @allow(to: [CREATE, DELETE])
      @allow(to: [UPDATE], check: { owner: { eq: "eve" } }) { id: ID!  owner: String }`,
  });
  const { stdout } = await command(folder, ['explain-access']);
  expect(stdout).toBe('anonymous  READ  CREATE  UPDATE  DELETE\nPost       no    no      no      no\n');
});

test('a role, and several', async () => {
  const { lines } = await explained('--role', 'admin');
  expect(lines).toEqual([
    'role admin     READ       CREATE  UPDATE     DELETE',
    'User           where (1)  no      where (2)  where (3)',
    'User.email     all        -       -          -',
    'Post           no         no      no         no',
    'Post.authorId  -          -       where (4)  -',
    'Vault          no         no      no         no',
    '(1) public eq true or handle eq claim sub',
    '(2) handle eq claim sub',
    '(3) not (some posts (always))',
    '(4) id in 1, 2',
  ]);
  // What one cannot read one cannot create either.
  const posts = async (...args: string[]) =>
    (await explained(...args)).lines.find((line) => /^Post /.test(line));
  expect(await posts('--role=writer')).toMatch(/^Post +no +no +no +no$/);
  expect(await posts('--role=writer', '--role', 'reader')).toMatch(/^Post +where \(\d\) +all +no +no$/);
});

test('a role that no rule names, and one that is not named', async () => {
  const { lines } = await explained('--role', 'amdin');
  expect(lines.at(-1)).toBe('No rule names the role "amdin"; it may do what everybody may who is known.');
  const nothing = await explained('--role');
  expect([nothing.exit, nothing.stderr]).toEqual([2, 'duet: --role needs the name of a role\n']);
});

test('a file whose rules are not sound is refused with the place', async () => {
  using folder = new Folder({
    'schema.graphql': 'type A @resource @allow(to: [READ], where: { b: {} }) { id: ID! }',
  });
  const { stderr, exit } = await command(folder, ['explain-access']);
  expect([exit, stderr]).toEqual([
    2,
    'duet: schema.graphql:1:18 The rule on "A" does not fit at b: "b" is no field of A. There are: id, and, or, not.\n',
  ]);
});

test('actions are told after the records, and roles that only they name are known', async () => {
  const lines = async (...args: string[]) => {
    using folder = new Folder({
      'schema.graphql': `type Book @resource @allow(to: [READ]) { id: ID! }
        type Mutation {
          order(bookId: ID!): Book @action @allow(role: "clerk") @allow(role: "admin")
          like(bookId: ID!): Book @action @allow(role: "authenticated")
          ping: Int @action @allow
          hidden: Int @action
        }`,
    });
    return (await command(folder, ['explain-access', ...args])).stdout.split('\n').slice(2, -1);
  };
  expect(await lines()).toEqual(['action  RUN', 'order   no', 'like    no', 'ping    yes', 'hidden  no']);
  expect(await lines('--role', 'clerk')).toEqual([
    'action  RUN',
    'order   yes',
    'like    yes',
    'ping    yes',
    'hidden  no',
  ]);
});

test('what a field was is told of by who may read what it is', async () => {
  using folder = new Folder({
    'schema.graphql': `type Post @resource @journal @allow(to: [READ, HISTORY]) {
        id: ID!
        open: Boolean!
        note: String @allow(to: [READ], role: "editor")
        mark: String @allow(to: [READ], where: { open: { eq: true } })
        size: Int @allow(to: [UPDATE])
      }
      type Plain @resource @allow(to: [READ]) { id: ID! note: String @allow(to: [READ], role: "editor") }`,
  });
  const told = async (...args: string[]) =>
    (await command(folder, ['explain-access', ...args])).stdout
      .split('\n')
      .filter((line) => line.includes('.'))
      .map((line) => line.replaceAll(/ {2,}/g, '  '));
  expect(await told()).toEqual([
    'Post.note  no  -  -  -  hidden',
    'Post.mark  where (1)  -  -  -  where (1)',
    'Post.size  -  -  all  -  -',
    'Plain.note  no  -  -  -  -',
  ]);
  expect((await told('--role', 'editor'))[0]).toBe('Post.note  all  -  -  -  -');
});

test('docs/rules.md shows what the command prints', async () => {
  const text = await Bun.file(join(import.meta.dir, '../../docs/rules.md')).text();
  const [, post = ''] = /```graphql\n([\s\S]*?)```/.exec(text) ?? [];
  const [, shown = ''] = /\$ duet explain-access --role editor\n([\s\S]*?)```/.exec(text) ?? [];
  const user = 'type User @resource @allow(to: [READ]) { id: ID! handle: String! }';
  using folder = new Folder({ 'schema.graphql': `${post}\n${user}` });
  const { stdout } = await command(folder, ['explain-access', '--role', 'editor']);
  const without = stdout.split('\n').filter((line) => !line.startsWith('User'));
  expect(without.join('\n')).toBe(shown);
});

test('with authentication, start-up names what no rule opens', async () => {
  using folder = new Folder({ 'schema.graphql': sdl, 'data.json': '{}' });
  await using server = await Server.start(folder, { AUTH_SECRET: 'a secret of at least thirty-two bytes' });
  await fetch(`${server.url}/users`);
  const notices = server.log.filter(({ event }) => event === 'notice').map(({ message }) => message);
  expect(notices).toEqual(['no rule allows anything on Vault: nobody can use them. Add @allow']);
});

test('a rule with a check is a way from one to the other', async () => {
  using folder = new Folder({
    'schema.graphql': `type Letter @resource @allow(to: [READ, UPDATE], where: { open: { eq: true } })
      @allow(to: [UPDATE], where: { open: { eq: false } }, check: { id: { gt: 5 } }) { id: ID! open: Boolean! }`,
  });
  const { stdout } = await command(folder, ['explain-access', '--role', 'x']);
  expect(stdout.split('\n').slice(0, 5)).toEqual([
    'role x  READ       CREATE  UPDATE                               DELETE',
    'Letter  where (1)  no      where (1) or where (2) to where (3)  no',
    '(1) open eq true',
    '(2) open eq false',
    '(3) id gt 5',
  ]);
});
