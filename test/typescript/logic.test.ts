/** `duet types`: what fits the schema file compiles, and what does not is an error where it stands; the start refuses it too. */

import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { command, Folder } from '../process.ts';

const SCHEMA = `
enum State { OPEN PAID }
type Item @resource {
  id: ID!
  name: String! @unique
  price: Decimal! @decimal(scale: 2)
  quantity: Int!
  orders: [Order!]!
  label: String! @computed(from: ["name", "quantity"])
}
type Order @resource @unique(fields: ["item", "number"]) {
  id: ID!
  item: Item!
  quantity: Int! @constraint(min: 1)
  state: State! @default(value: OPEN)
  number: Int! @readonly
  note: String
}
input Wish { itemId: ID! quantity: Int! = 1 }
type Best { item: Item! sold: Int }
type Mutation {
  "Takes it out of the stock."
  placeOrder(itemId: ID!, quantity: Int! = 1, wishes: [Wish!]): Order! @action
}
type Query { bestsellers(first: Int): [Best!]! @action }
`;

const NEEDED = `
  Item: { label: ({ name, quantity }) => \`\${name} (\${quantity})\` },
  Mutation: { placeOrder: () => 1 },
  Query: { bestsellers: () => [] },`;

function logic(text: string): string {
  // Without it the schema file is at fault: nobody gives an order its number.
  const order = /\bOrder: {/.test(text) ? '' : 'Order: { beforeCreate() {} },';
  return `import { decimal, type Logic } from './duet.gen.ts';\nexport default {${text}${order}\n} satisfies Logic;\nvoid decimal;\n`;
}

/** What fits: everything that docs/logic.md tells of. */
const GOOD = logic(`
  Item: { label: ({ name, quantity }) => \`\${name} (\${quantity.toFixed(0)})\` },
  Order: {
    *beforeCreate({ tx, input, refuse, caller }) {
      const item = yield* tx.system.items.get(input.itemId);
      if (!item) throw refuse('There is no such item.', 'itemId');
      yield* tx.system.items.update(item, { _inc: { quantity: -input.quantity } });
      const [last] = yield* tx.system.orders.list({
        where: { itemId: { eq: item.id }, or: [{ state: { in: ['PAID'] } }, { item: { orders: { none: {} } } }] },
        orderBy: [{ number: 'DESC' }],
        first: 1,
        select: { number: true, item: { select: { name: true, orders: { first: 3, select: { note: true } } } } },
      });
      const related: (string | null)[] | undefined = last?.item.orders.map(({ note }) => note);
      const [row] = yield* tx.orders.aggregate({ groupBy: ['state'], count: true, sum: 'quantity', max: ['number'] });
      const found: ['OPEN' | 'PAID', number, number | null, number | null] | undefined =
        row && [row.by.state, row.count, row.sum.quantity, row.max.number];
      const whole = yield* tx.items.get('1', { include: { orders: { orderBy: { id: 'ASC' } } } });
      const price: string = decimal.mul(whole?.price ?? '0', whole?.orders[0]?.quantity ?? 0);
      yield* tx.items.upsert('name', { name: 'Spoon', price, quantity: 1 });
      yield* tx.system.orders.upsert(['itemId', 'number'], { itemId: item.id, number: 1, quantity: 1 });
      if (caller.subject === undefined || related === undefined || found === undefined) return;
      return { ...input, number: (last?.number ?? 0) + 1 };
    },
    beforeUpdate: ({ input, record }) => ({ ...input, note: record.note ?? record.state }),
    *beforeDelete({ tx, record }) {
      yield* tx.system.items.update(record.itemId, { _inc: { quantity: record.quantity } });
    },
    afterDelete: { timeout: 20_000, async run({ record }) { void record.number; } },
    async afterUpdate({ record, before, api, id, attempt, signal }) {
      if (record.state === before.state || attempt > 3) return;
      await fetch(\`https://example.com/\${id}\`, { signal });
      await api.orders.update(record.id, { number: 3 });
      await api.as({ subject: 'ann', roles: [], claims: {} }).orders.list();
      const name: string | undefined = await api.transact(function* (tx) {
        return (yield* tx.items.get(record.itemId))?.name;
      });
      void name;
    },
  },
  Mutation: {
    *placeOrder({ tx, refuse }, { itemId, quantity, wishes }) {
      for (const wish of wishes ?? []) if (wish.quantity < 1) throw refuse('None?', 'wishes');
      return yield* tx.system.orders.create({ itemId, quantity, number: 7 });
    },
  },
  Query: {
    *bestsellers({ tx }, { first }) {
      const items = yield* tx.items.list({ first: first ?? 10 });
      return items.map((item) => ({ item, sold: null }));
    },
  },
  schedule: { nightly: { cron: '0 3 * * *', timeout: 1000, async run({ api, slot }) { await api.items.delete(1); void slot.length; } } },
  routes: { 'POST /hooks/payments': async (request, { api, caller }) => new Response(String(await api.as(caller).orders.get(1)) + request.url) },`);

/** What does not fit, what tsc says of it, and what the start says where it can tell. */
const wrong: Readonly<Record<string, readonly [text: string, told: string, refused?: string]>> = {
  'a misspelt type': [
    `${NEEDED} Oder: { *beforeCreate() {} },`,
    "'Oder' does not exist in type 'Logic'",
    '"Oder" is no type of the schema file. Did you mean "Order"?',
  ],
  'a misspelt hook': [
    `${NEEDED} Order: { *beforeCreat() {}, beforeCreate() {} },`,
    "'beforeCreat' does not exist in type 'OrderLogic'",
    '"Order.beforeCreat" is not known. Did you mean "beforeCreate"',
  ],
  'async where a generator is due': [
    `${NEEDED} Order: { async beforeCreate({ input }) { return input; } },`,
    "Type 'Promise<OrderCreating>' is not assignable to type",
    'Write: *beforeCreate({ tx }) { … }, and yield* tx.… instead of await',
  ],
  'async before a delete': [
    `${NEEDED} Order: { async beforeDelete() {}, beforeCreate() {} },`,
    "Type 'Promise<void>' is not assignable to type",
    'Write: *beforeDelete({ tx }) { … }, and yield* tx.… instead of await',
  ],
  'an async action': [
    NEEDED.replace('() => 1', 'async () => 1'),
    "Type 'Promise<number>' is not assignable to type",
    '"Mutation.placeOrder" is async',
  ],
  'a missing action': [
    NEEDED.replace('placeOrder: () => 1', ''),
    "Property 'placeOrder' is missing",
    'has no function. Write: Mutation: { *placeOrder({ tx }, { itemId, quantity, wishes }) { … } }',
  ],
  'no actions at all': [
    NEEDED.replace(/Query.*/, ''),
    "Property 'Query' is missing",
    '"Query.bestsellers" is an @action of the schema file, and has no function.',
  ],
  'an action that is not in the file': [
    NEEDED.replace('() => 1', '() => 1, cancelOrder: () => 1'),
    "'cancelOrder' does not exist in type 'MutationLogic'",
    '"Mutation.cancelOrder" is no @action of the schema file.',
  ],
  'a missing computed field': [
    NEEDED.replace(/label: .*\)` /, ''),
    "Property 'label' is missing",
    '"Item.label" is @computed in the schema file, and has no function.',
  ],
  'an async computed field': [
    NEEDED.replace('label: ', 'label: async '),
    "Type 'Promise<string>' is not assignable to type 'string'",
    '"Item.label" must be a plain function of these fields.',
  ],
  'a computed field of another type': [
    NEEDED.replace(/`.*`/, 'quantity'),
    "Type 'number' is not assignable to type 'string'",
  ],
  'a computed field of what it is not made of': [
    NEEDED.replace('{ name, quantity }', '{ name, quantity, price }'),
    "Property 'price' does not exist on type",
  ],
  'an argument of an action that there is not': [
    NEEDED.replace('() => 1', '(_, { itemID }) => itemID'),
    "Property 'itemID' does not exist on type",
  ],
  'an answer that does not fit': [
    NEEDED.replace('() => []', '() => [{ sold: 1 }]'),
    "Property 'item' is missing",
  ],
  'yield without the star': [inHook('yield tx.items.get(1);'), "is not assignable to type 'Step'"],
  'a resource that there is not': [inHook('yield* tx.item.get(1);'), "Did you mean 'items'"],
  'a key of another type': [
    inHook('yield* tx.items.get(true);'),
    "not assignable to parameter of type 'ItemKey'",
  ],
  'a filter by no field': [
    inHook("yield* tx.items.list({ where: { nam: { eq: 'x' }, id: { eq: 1 } } });"),
    "'nam' does not exist in type 'ItemWhere'",
  ],
  'a value of another type': [
    inHook("yield* tx.items.list({ where: { quantity: { gt: '3' } } });"),
    "Type 'string' is not assignable to type 'number'",
  ],
  'a value of no enum': [
    inHook("yield* tx.orders.update(1, { state: 'PAYED' });"),
    'is not assignable to type',
  ],
  'an order by no field': [
    inHook("yield* tx.items.list({ orderBy: [{ nam: 'ASC' }] });"),
    "'nam' does not exist",
  ],
  'a selection of no field': [
    inHook('yield* tx.items.list({ select: { name: true, nam: true } });'),
    "Type 'true' is not assignable to type 'never'",
  ],
  'a field that was not selected': [
    inHook('return (yield* tx.items.get(1, { select: { name: true } }))?.price;'),
    "Property 'price' does not exist on type",
  ],
  'a record that may not be there': [inHook('(yield* tx.items.get(1)).name;'), 'Object is possibly'],
  'what only the server sets': [
    inHook('yield* tx.orders.create({ itemId: 1, quantity: 1, number: 3 });'),
    "'number' does not exist in type 'OrderInput'",
  ],
  'a new record without what it needs': [
    inHook('yield* tx.system.orders.create({ itemId: 1 });'),
    "Property 'quantity' is missing",
  ],
  'a record without its version': [
    inHook("yield* tx.orders.update({ id: 1 }, { note: '' });"),
    "Property '_version' is missing",
  ],
  'an upsert by what is not unique': [
    inHook("yield* tx.items.upsert('price', {});"),
    "is not assignable to parameter of type 'ItemBy'",
  ],
  'a place that the input has not': [inHook("throw refuse('no', 'itmId');"), '\'"itmId"\' is not assignable'],
  'an input that is changed in place': [inHook('input.quantity = 3;'), 'it is a read-only property'],
  'a hook that leaves out what is required': [
    inHook('return { ...input };'),
    "Type 'number | null' is not assignable to type 'number",
  ],
  'a schedule without its time': [
    `${NEEDED} schedule: { nightly: { async run() {} } },`,
    "Property 'cron' is missing",
  ],
  'a route elsewhere': [
    `${NEEDED} routes: { 'POST /payments': () => new Response() },`,
    "''POST /payments'' does not exist",
  ],
};

function inHook(text: string): string {
  return `${NEEDED} Order: { *beforeCreate({ tx, input, refuse }) { ${text} return void [tx, input, refuse] as never; } },`;
}

const tsc = join(import.meta.dir, '../../node_modules/.bin/tsc');
const CONFIG = JSON.stringify({
  compilerOptions: {
    target: 'ESNext',
    module: 'Preserve',
    lib: ['ESNext', 'DOM'],
    types: [],
    strict: true,
    noEmit: true,
    allowImportingTsExtensions: true,
    verbatimModuleSyntax: true,
    erasableSyntaxOnly: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: true,
  },
});

/** What tsc says, by the names of files. */
async function compiled(folder: Folder): Promise<Map<string, string>> {
  await Bun.write(folder.file('tsconfig.json'), CONFIG);
  const child = Bun.spawn([tsc, '-p', '.', '--pretty', 'false'], { cwd: folder.path, stdout: 'pipe' });
  const told = new Map<string, string>();
  let file = '';
  for (const line of (await child.stdout.text()).split('\n')) {
    file = /^([^\s(]+)\(\d/.exec(line)?.[1] ?? file;
    if (line !== '') told.set(file, `${told.get(file) ?? ''}${line}\n`);
  }
  return told;
}

test('what fits compiles, and each thing that does not is an error; what can be told at the start is refused there', async () => {
  using folder = new Folder({ 'schema.graphql': SCHEMA, 'good.ts': GOOD });
  const { stdout } = await command(folder, ['types']);
  expect(stdout).toBe('wrote duet.gen.ts\n');
  const cases = Object.entries(wrong).map(([name, [text, ...expected]], index) => {
    const file = `wrong-${index}.ts`;
    return { name, file, text: logic(text), expected };
  });
  for (const { file, text } of cases) await Bun.write(folder.file(file), text);
  const told = await compiled(folder);
  expect(told.get('good.ts')).toBeUndefined();
  expect(told.get('duet.gen.ts')).toBeUndefined();
  for (const { name, file, expected } of cases)
    expect([name, told.get(file) ?? 'no error']).toEqual([name, expect.stringContaining(expected[0])]);
  for (const { name, file, expected } of cases) {
    if (expected[1] === undefined) continue;
    const { stderr, exit } = await command(folder, ['check'], { DUET_LOGIC: file });
    expect([name, stderr, exit]).toEqual([name, expect.stringContaining(expected[1]), 2]);
  }
  // The same before anything is served.
  const { stderr, exit } = await command(folder, ['serve'], { DUET_LOGIC: 'wrong-1.ts' });
  expect([stderr, exit]).toEqual([expect.stringContaining('Did you mean "beforeCreate"'), 2]);
}, 120_000);

test('names of the file that are names of the language, or of what is generated, do no harm', async () => {
  const names =
    'Logic Request Response Promise Pick Exclude Generator Record Caller Tx Api Steps Chosen Exact'.split(
      ' ',
    );
  const types = names.map(
    (name) => `type ${name} @resource { id: ID! n: Int! @readonly  c: Int @computed(from: ["n"]) }`,
  );
  const clashing = ['Book', 'BookList', 'BookSystem'].map(
    (name) => `type ${name} @resource { id: ID! n: Int @readonly }`,
  );
  using folder = new Folder({ 'schema.graphql': [...types, ...clashing].join('\n') });
  expect((await command(folder, ['types'])).stderr).toBe('');
  expect([...(await compiled(folder)).values()]).toEqual([]);
}, 60_000);

test('`--check` says whether it is up to date, and a missing file names its cure', async () => {
  using folder = new Folder({
    'schema.graphql': 'type Book @resource { id: ID! title: String }',
    'logic.ts': "import { decimal } from './duet.gen.ts';\nvoid decimal;\nexport default {};",
  });
  const missing = await command(folder, ['check']);
  expect(missing.stderr).toContain('`duet types` writes that file');
  const before = await command(folder, ['types', '--check']);
  expect([before.stderr, before.exit]).toEqual(['duet: duet.gen.ts is out of date. Run: duet types\n', 2]);
  expect((await command(folder, ['types'])).stdout).toBe('wrote duet.gen.ts\n');
  expect((await command(folder, ['types', '--check'])).stdout).toBe('duet.gen.ts is up to date.\n');
  expect((await command(folder, ['types'])).stdout).toBe('duet.gen.ts is up to date.\n');
  await Bun.write(folder.file('schema.graphql'), 'type Book @resource { id: ID! title: Strin }');
  const faulty = await command(folder, ['types']);
  expect([faulty.stderr, faulty.exit]).toEqual([expect.stringContaining('Did you mean "String"?'), 2]);
}, 60_000);
