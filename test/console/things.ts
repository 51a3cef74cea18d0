/** A type with every kind of field that somebody can type into, and a form of it, through one door or the other. */

import type { Locator, Page, Request } from 'playwright-core';
import type { DatabaseKind } from '../app.ts';
import { type service, type Visit, visit, type Wishes } from './browser.ts';

const sdl = `
enum Color { RED GREEN }
type Thing @resource {
  id: ID!
  name: String! @constraint(minLength: 1, maxLength: 100)
  nick: String
  body: String
  code: String @constraint(maxLength: 20)
  site: String @constraint(format: "uri")
  mark: UUID
  color: Color
  day: Date
  at: DateTime
  amount: Float
  price: Decimal @decimal(scale: 2)
  units: BigInt
  needed: Int! @default(value: 1)
  flag: Boolean
  sure: Boolean!
  extra: JSON
  extras: [JSON!]
  scores: [Float!]
  owner: Owner
}
type Owner @resource { id: ID! name: String! things: [Thing!]! }
type Tag @resource { code: ID! @key label: String old: String @deprecated(reason: "Use the code.") sku: String @constraint(pattern: "^[A-Z]{3}-\\\\d{4}$") }
type Shirt @resource { id: ID! name: String! labels: [Label!]! @through(type: "ShirtLabel") }
type Label @resource { id: ID! name: String! shirts: [Shirt!]! @through(type: "ShirtLabel") }
type ShirtLabel @resource @unique(fields: ["shirt", "label"]) { id: ID! shirt: Shirt! label: Label! }
type Job @resource { id: ID! name: String state: State @default(value: NEW) @transitions(allow: { NEW: [PAID, GONE], PAID: [GONE] }) }
enum State { NEW PAID SENT GONE }
type Color2 @resource { id: ID! hue: Color @default(value: GREEN) note: String @default(value: "dull") }
`;

/** What a thing has at first. */
export const thing = {
  name: 'A thing',
  nick: 'nick',
  body: 'one\ntwo',
  code: 'c',
  site: 'https://example.com/',
  mark: '0190f5a0-7c1e-7a64-b3f5-000000000001',
  color: 'RED',
  day: '2024-02-29',
  at: '2025-03-04T05:06:07.008Z',
  amount: 1.5,
  price: '12.50',
  units: '9007199254740993',
  needed: 10,
  flag: true,
  sure: false,
  extra: { deep: [1, { two: null }] },
  extras: [{ a: 1 }],
  scores: [1.5, 2],
  ownerId: 1,
};

export const things = {
  sdl,
  data: {
    owners: [{ name: 'Ada' }, { name: 'Grace' }],
    labels: ['Red', 'Soft', 'Warm', 'Wide'].map((name) => ({ name })),
  },
};

export const doors = ['REST', 'GraphQL'] as const;
export type Door = (typeof doors)[number];

/** Each door on a database of its own: which of them is behind a door is nothing to the console, and to drive all four takes twice as long. */
export const onBoth: [Door, DatabaseKind][] = [
  ['REST', 'sqlite'],
  ['GraphQL', 'postgres'],
];

/** Of cases that are decided before anything is sent, each goes through one door: these through this one. */
export const shareOf = <T>(door: Door, cases: readonly T[]): T[] =>
  cases.filter((_, index) => index % doors.length === doors.indexOf(door));

export interface Editing extends Visit {
  /** What the forms have sent so far: the fields alone. */
  readonly sent: Record<string, unknown>[];
  /** A field with its label and its faults, and what is typed into. */
  field(name: string): Locator;
  input(name: string): Locator;
  save(): Promise<void>;
}

/** The console at a place, going through a door. A wait that is in vain ends. */
export async function editing(
  url: string,
  door: Door,
  place: string,
  options: Wishes = {},
): Promise<Editing> {
  const here = await visit(url, options);
  const { page } = here;
  page.setDefaultTimeout(25_000);
  const sent: Record<string, unknown>[] = [];
  page.on('request', (request) => {
    const written = writtenBy(request);
    if (written) sent.push(written);
  });
  await here.go('#/data/Owner');
  await page.getByRole('radio', { name: door }).check();
  await here.go(place);
  return Object.assign(here, {
    sent,
    field: (name: string) => page.locator('.field', { has: page.locator(`#field-${name}`) }),
    input: (name: string) => page.locator(`#field-${name}`),
    async save() {
      const answered = page.waitForResponse((response) => writtenBy(response.request()) !== undefined);
      await page.getByRole('button', { name: /^(Save|Create)$/ }).click();
      await answered;
      await page.locator('main > dl.fields').waitFor();
    },
  });
}

type Service = Awaited<ReturnType<typeof service>>;

/** The form of a new thing, with something behind it and something before it in the history. */
export async function between(duet: Service, door: Door, options: Wishes = {}) {
  const here = await editing(duet.url, door, '#/data/Owner', options);
  return Object.assign(here, await openBetween(duet, here));
}

/** The same where the console is open already. */
export async function openBetween(duet: Service, here: Editing) {
  const { id } = await duet.json('POST', '/things', thing);
  const form = `#/data/Thing/record/${id}/edit`;
  for (const place of ['#/data/Owner', '#/data/Owner?sort=name', form, '#/data/Tag']) await here.go(place);
  await here.page.goBack();
  await here.input('nick').waitFor();
  return { id: id as number, form };
}

/** What stands before those who would lose something. */
export function question(page: Page): Locator {
  return page.getByRole('dialog', { name: 'Discard changes?' });
}

/** The fields that a request writes; undefined for one that reads. */
function writtenBy(request: Request): Record<string, unknown> | undefined {
  if (request.method() === 'GET') return undefined;
  const body = request.postDataJSON() ?? {};
  if (new URL(request.url()).pathname !== '/graphql') return body;
  if (!body.query.startsWith('mutation')) return undefined;
  const { id: _, ifVersion: __, ...fields } = body.variables ?? {};
  return fields;
}
