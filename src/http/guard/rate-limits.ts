/** How much an address and a caller may ask for: the generic cell rate algorithm, weighted by cost. */

import { DuetError } from '../../base/errors.ts';
import { Lru } from '../../base/lru.ts';
import { PassedJson } from '../../base/passed.ts';
import type { SharedLimits, Take } from './shared-limits.ts';

export interface Rate {
  readonly units: number;
  readonly seconds: number;
}

/** What a write costs; a read costs one unit. */
export const WRITE_COST = 5;
/** One more unit for so many objects in an answer. */
const OBJECTS_PER_UNIT = 100;
/** Of more addresses than half of these, the oldest may be forgotten: memory has an end, and addresses have none. */
const KEPT = 200_000;

/** What an answer costs beyond the request for it. */
export function costOfAnswer(answer: unknown): number {
  return objectsIn(answer) / OBJECTS_PER_UNIT;
}

function objectsIn(value: unknown): number {
  if (typeof value !== 'object' || value === null || value instanceof PassedJson) return 0;
  let count = Array.isArray(value) ? 0 : 1;
  for (const inner of Object.values(value)) count += objectsIn(inner);
  return count;
}

/**
 * One limit. Of each client it remembers a single time: when all that it has asked for would be paid off at the steady
 * rate. That may lie a whole window ahead, and no further.
 */
class Meter {
  readonly name: string;
  readonly rate: Rate;
  /** Milliseconds that one unit takes to pay off. */
  readonly interval: number;
  readonly window: number;
  readonly #paidOff = new Lru<string, number>(KEPT);

  constructor(name: string, rate: Rate) {
    this.name = name;
    this.rate = rate;
    this.window = rate.seconds * 1000;
    this.interval = this.window / rate.units;
  }

  /** The debt in milliseconds after these units. */
  debt(client: string, units: number): number {
    const now = performance.now();
    return Math.max(this.#paidOff.get(client) ?? 0, now) - now + units * this.interval;
  }

  take(client: string, units: number): void {
    this.#paidOff.set(client, performance.now() + this.debt(client, units));
  }
}

export interface RateOptions {
  readonly address: Rate | null;
  readonly caller: Rate | null;
  /** Processes that share what is not shared through Redis: together they keep to the limit. */
  readonly processes: number;
  readonly shared: SharedLimits | undefined;
}

export class RateLimits {
  readonly #address: Meter | undefined;
  readonly #caller: Meter | undefined;
  readonly #shared: SharedLimits | undefined;

  constructor({ address, caller, processes, shared }: RateOptions) {
    const part = shared ? 1 : processes;
    const meter = (name: string, rate: Rate | null) =>
      rate ? new Meter(name, { ...rate, units: Math.max(1, Math.floor(rate.units / part)) }) : undefined;
    this.#address = meter('address', address);
    this.#caller = meter('caller', caller);
    this.#shared = shared;
  }

  bill(units: number): Bill {
    return new Bill(units, this.#shared);
  }

  /** Before anybody asks who it is: guessing at credentials is limited too. */
  arrive(bill: Bill, address: string): void {
    if (this.#address) bill.open(this.#address, address);
  }

  /** Once it is known who it is, and before any work. */
  async admit(bill: Bill, subject: string | undefined): Promise<void> {
    if (this.#caller && subject !== undefined) bill.open(this.#caller, subject);
    await bill.share();
  }
}

interface Account {
  readonly meter: Meter;
  readonly client: string;
  /** Milliseconds. */
  debt: number;
}

/** What one request owes, to all that it is counted for. */
export class Bill {
  readonly #units: number;
  readonly #shared: SharedLimits | undefined;
  readonly #accounts: Account[] = [];
  #settled = false;

  constructor(units: number, shared: SharedLimits | undefined) {
    this.#units = units;
    this.#shared = shared;
  }

  open(meter: Meter, client: string): void {
    const units = this.#first(meter);
    const account = { meter, client, debt: meter.debt(client, units) };
    this.#accounts.push(account);
    if (account.debt > meter.window) this.#refuse(account);
    meter.take(client, units);
  }

  /** The same against what all processes have counted together; whoever cannot be asked in time is not waited for. */
  async share(): Promise<void> {
    this.#settled = true;
    const debts = await this.#shared?.take(this.#accounts.map((account) => this.#taken(account)));
    if (!debts) return;
    for (const [index, account] of this.#accounts.entries())
      account.debt = Math.max(account.debt, debts[index] ?? 0);
    const refused = this.#accounts.find(({ debt, meter }) => debt > meter.window);
    if (!refused) return;
    // Nothing was taken there, so nothing is owed here.
    for (const { meter, client } of this.#accounts) meter.take(client, -this.#first(meter));
    this.#refuse(refused);
  }

  /** Whoever was sent away before that, for credentials that do not do, is counted all the same. */
  settle(): void {
    if (!this.#settled) this.#shared?.charge(this.#accounts.map((account) => this.#taken(account)));
    this.#settled = true;
  }

  /** What turned out to cost more is charged when it is known, and makes the next requests wait. */
  readonly spend = (units: number): void => {
    if (units <= 0) return;
    for (const account of this.#accounts) {
      account.meter.take(account.client, units);
      account.debt += units * account.meter.interval;
    }
    this.#shared?.charge(this.#accounts.map((account) => ({ ...this.#taken(account), units })));
  };

  /** The syntax of draft-ietf-httpapi-ratelimit-headers. */
  tell(headers: Headers): void {
    if (this.#accounts.length === 0) return;
    const each = (write: (account: Account) => string) => this.#accounts.map(write).join(', ');
    headers.set(
      'RateLimit-Policy',
      each(({ meter: { name, rate } }) => `"${name}";q=${rate.units};w=${rate.seconds}`),
    );
    headers.set(
      'RateLimit',
      each(({ meter, debt }) => {
        const left = Math.max(0, Math.floor((meter.window - debt) / meter.interval));
        return `"${meter.name}";r=${left};t=${Math.ceil(debt / 1000)}`;
      }),
    );
  }

  /** What costs more than there can ever be costs all there can be. */
  #first({ rate }: Meter): number {
    return Math.min(this.#units, rate.units);
  }

  #taken({ meter, client }: Account): Take {
    const { name, interval, window } = meter;
    return { key: `${name}:${client}`, interval, window, units: this.#first(meter) };
  }

  #refuse(account: Account): never {
    const { meter, debt } = account;
    this.#settled = true;
    account.debt -= this.#first(meter) * meter.interval;
    const seconds = Math.max(1, Math.ceil((debt - meter.window) / 1000));
    const detail = `The rate limit of this ${meter.name} is exceeded; retry in ${seconds} s.`;
    throw new DuetError('RATE_LIMITED', detail, { headers: { 'Retry-After': String(seconds) } });
  }
}
