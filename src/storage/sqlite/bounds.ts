/** Whether an index, a limit or the size of the tables bounds what a SQLite statement visits, and the texts that it looks at. */

import type { Database } from 'bun:sqlite';
import { isReferred } from '../../query/referred.ts';
import type { Statement } from '../statements.ts';
import {
  type Allowance,
  type Cost,
  DOUBTFUL,
  LONG,
  LONGEST_MS,
  MOST_TESTS,
  MOST_TURNS,
  NOTHING,
  sure,
  timed,
} from './cost.ts';
import { answeredOf, BYTES, countOf, FEW_SOUGHT, givenTo, soughtOf } from './given.ts';
import { costOfLists, keyIn, named, seeksIn } from './keyed.ts';
import { LookCost } from './look-cost.ts';
import { Others } from './others.ts';
import { costOfPassing, FEW_ROWS, OwnCost, VISIT } from './own-cost.ts';
import { looksAt, type Plan, planOf, type Reading } from './plan.ts';
import { isLongToPlan } from './planning.ts';
import { costOfSearch } from './search-cost.ts';
import { MOST_ROWS, Sizes } from './sizes.ts';
import { keptStatements } from './statement-cache.ts';
import { ASSUMED, type Part, read, weightOf } from './texts.ts';
import type { Uniques } from './uniques.ts';
import { SHORT_FILE, WriteCost } from './write-cost.ts';

/** What it costs to change a few rows. */
const FEW_CHANGES = 1_000;
/** Of rows that could all meet each other, at most one in so many does. */
const SELDOM = 12;
/** What is looked at for each byte counts from here on: a few values that are compared are in most rules. */
const FEW_LOOKS = 1;
/** How long a page may take that is no longer to be read elsewhere. */
const FOLLOWING_MS = 500;
/** So many rows of a large file are measured in some milliseconds, and if their keys are long, in a hundred. */
const FEW_PAGES = 5_000;
/** A page of an export may have the lists of so many records, however few the first has. */
const PAGE_LISTS = 250;
/** How long a statement that took long is not tried here again. */
const LONG_MS = 5_000;
/** For how long the rows of whole lists are counted beforehand, after there were many: an index does it, and yet a fifth of a short read. */
const MANY_MS = 60_000;

interface Kept {
  readonly plan: Plan;
  /** Until when it is not relied on that it looks few up, after it has taken long. */
  longUntil: number;
  /** Until when it is not taken for granted that lists that are answered whole have few rows. */
  manyUntil: number;
}

/** Whether a program reads all that it is about, or a page of it. */
type Reach = 'all of it' | 'each page';

export class Bounds implements Allowance {
  readonly #database: Database;
  readonly #plans = keptStatements<Kept>();
  readonly #sizes: Sizes;
  readonly #looks: LookCost;
  readonly #writes: WriteCost;
  readonly #own: OwnCost;
  readonly #isShared: boolean;
  readonly #others: Others;
  readonly #uniques: Uniques | undefined;
  #wasLongUntil = 0;
  readonly mostTurns = MOST_TURNS;

  /** `isShared`: others write too, of which nobody here knows how much. `uniques`: what others may give up. */
  constructor(database: Database, isShared = false, uniques?: Uniques) {
    this.#database = database;
    this.#uniques = uniques;
    this.#isShared = isShared;
    this.#sizes = new Sizes(database);
    this.#others = new Others(database);
    this.#looks = new LookCost(database, this.#sizes);
    this.#writes = new WriteCost(database, this.#sizes);
    this.#own = new OwnCost(this.#sizes);
  }

  /**
   * For one program: what its statements cost together is what others wait for. However short each is, many are long. With 'each
   * page', it is the first of many that ask the same of other records, which may be more, and lead to more: the clock would end
   * one of these, when it is too late to read elsewhere. `mostMs`: how long they may take before the last of them begins.
   */
  allowance(of: Reach = 'all of it', mostMs = LONGEST_MS): Allowance {
    let left = MOST_TESTS;
    const begun = performance.now();
    return {
      admits: (statement, sql, parameters) => {
        const { tests, within } = this.#cost(statement, sql, parameters, left, of);
        left -= tests;
        const now = performance.now();
        if (left < 0 || now > begun + mostMs || (of === 'each page' && Number.isFinite(within))) return 0;
        return within === LONGEST_MS ? Math.min(begun + LONGEST_MS, now + this.#longest(now)) : now + within;
      },
      wasLong: this.wasLong,
      hadMany: this.hadMany,
      mostTurns: (MOST_TURNS * mostMs) / LONGEST_MS,
    };
  }

  /** For the pages that follow: what none before them has asked may be long, and is ended then. */
  following(): Allowance {
    return {
      admits: (statement, sql, parameters) => {
        const { tests, within } = this.#cost(statement, sql, parameters, MOST_TESTS, 'each page');
        return tests <= MOST_TESTS && !Number.isFinite(within) ? within : performance.now() + FOLLOWING_MS;
      },
      wasLong: this.wasLong,
      hadMany: this.hadMany,
      mostTurns: MOST_TURNS,
    };
  }

  /** A statement that is all of a program. */
  admits(statement: Statement, sql: string, parameters: readonly unknown[]): number {
    const { tests, within } = this.#cost(statement, sql, parameters, MOST_TESTS);
    if (tests > MOST_TESTS) return 0;
    const now = performance.now();
    return now + (within === LONGEST_MS ? this.#longest(now) : within);
  }

  readonly #longest = (now: number) => (now < this.#wasLongUntil ? DOUBTFUL.within : LONGEST_MS);

  /** After a long write, nobody knows how much it was. */
  recount(): void {
    this.#sizes.outdate();
  }

  /**
   * What others have written: nobody knows how much, nor whether the indexes are still there that plans rely on. `anew`: what has
   * been written is of this connection, which it is not told of.
   */
  look(anew = false): void {
    const changed = anew ? 'schema' : this.#others.look();
    if (changed === 'schema') {
      this.#plans.clear();
      this.#uniques?.look(anew);
    }
    // Where others always write, nothing is taken for certain that hangs on how much there is.
    if (changed !== 'nothing' && !this.#isShared) this.#sizes.outdateSoon();
  }

  readonly wasLong = (sql: string) => {
    const kept = this.#plans.get(sql);
    // Whoever writes it otherwise each time must not have all of the time again.
    this.#wasLongUntil = performance.now() + LONG_MS;
    if (kept) kept.longUntil = this.#wasLongUntil;
  };

  readonly hadMany = (sql: string) => {
    const kept = this.#plans.get(sql);
    if (kept) kept.manyUntil = performance.now() + MANY_MS;
  };

  /** `left`: what it may cost. What may cost more is looked at closer. */
  #cost(
    statement: Statement,
    sql: string,
    parameters: readonly unknown[],
    left: number,
    of: Reach = 'all of it',
  ): Cost {
    if (statement.do === 'filled')
      return this.#costOfReading(statement.select, sql, parameters, left, of, statement.value);
    switch (statement.do) {
      case 'select':
      case 'aggregate':
        if (!statement.resource.version) return sure(this.#own.of(statement, parameters));
        return this.#costOfReading(statement, sql, parameters, left, of);
      case 'match': {
        // What its filter looks at besides, it looks at for each of them; and at what is given, whatever it comes to.
        const own = givenTo(statement);
        if (own > left) return sure(own);
        const { length } = statement.rows;
        const { tests, within } = this.#costOfReading(statement, sql, parameters, left / length, of);
        return { tests: tests * length + own, within };
      }
      default: {
        if (!statement.resource.version) return sure(this.#writes.ofOwn(statement));
        const tests = this.#writes.of(statement);
        return tests <= FEW_CHANGES ? sure(tests) : timed(tests);
      }
    }
  }

  #costOfReading(
    statement: Reading,
    sql: string,
    parameters: readonly unknown[],
    left: number,
    of: Reach,
    values: unknown = 'per' in statement ? statement.per?.values : undefined,
  ): Cost {
    const { where, resource } = statement;
    const per = 'per' in statement ? statement.per : undefined;
    // What it is put in order by may be of another record, which a rule shows or not.
    const isOfOthers = statement.do === 'select' && statement.order?.some(({ column }) => isReferred(column));
    if (!per && !isOfOthers && where?.is === 'eq' && where.column === resource.key) return NOTHING;
    const given = countOf(values);
    // Lists are laid out before anything is looked for.
    const having = statement.do === 'aggregate' ? statement.having : undefined;
    const listed = (where ? costOfLists(where) : 0) + (having ? costOfLists(having) : 0);
    let kept = this.#plans.get(sql);
    if (!kept) {
      if (isLongToPlan(where, having, resource)) return LONG;
      kept = { plan: planOf(this.#database, statement, sql), longUntil: 0, manyUntil: 0 };
      this.#plans.set(sql, kept);
    }
    if (kept.longUntil > 0 && performance.now() < kept.longUntil) return LONG;
    const { plan } = kept;
    const isMindful = kept.manyUntil > 0 && of !== 'each page' && performance.now() < kept.manyUntil;
    if (isMindful && plan.rows && this.#sizes.count(plan.rows, [parameters[0]]) > MOST_ROWS) return LONG;
    const { loops, conditions } = plan;
    // What is left out is visited too.
    const offset = statement.do === 'select' ? statement.offset : 0;
    const weight = plan.weight + (where ? weightOf(where) : 0) + (having ? weightOf(having) : 0);
    // Any number of rows may lead to the same long text, and a single comparison reads it for each.
    const leadsOn = plan.leadsTo.length > 0;
    const isOne = statement.do === 'match' || keyIn(where, resource.key)?.is === 'eq';
    // What each row that is visited seeks among others, and that for each place where rows are sought themselves.
    const inner = where ? seeksIn(where, resource, false) : 1;
    const seeks = given * (isOne || !where ? inner : seeksIn(where, resource));
    const isMany = seeks > 1 || (leadsOn && statement.do === 'match' && statement.rows.length > 1);
    // Mostly nothing is asked of the rows of a list but that they are in it.
    const isLight = weight < FEW_LOOKS && (!isMany || (conditions <= 1 && !leadsOn));
    const sought = (seeks > given ? Math.max(listed, seeks) : listed) + soughtOf(values);
    // To count what it finds would take as long.
    if (sought > left) return timed(sought);
    const isPage = of === 'each page';
    // The lists of few records may have any number of rows, and all of them would be measured.
    const part = () =>
      plan.where === undefined ||
      isPage ||
      (plan.rows &&
        this.#sizes.count(plan.rows, [parameters[0]]) > (this.#sizes.isLarge ? FEW_PAGES : MOST_ROWS))
        ? undefined
        : { where: plan.where, parameters: [parameters[0]] };
    // In a small file all that there is to carry is little.
    const carried =
      plan.sorted.length > 0 && this.#sizes.isLarge
        ? this.#costOfSorting(statement, plan, given, () => part() ?? named(statement, parameters), left)
        : 0;
    // Any number of links may lead to the same record.
    const isFew =
      sought <= FEW_SOUGHT &&
      given <= FEW_SOUGHT &&
      !per?.through &&
      answeredOf(statement, isPage ? Math.max(given, PAGE_LISTS) : given) <= FEW_ROWS;
    if (loops === 0 && offset === 0) {
      const taken = isFew && !(leadsOn && this.#sizes.isLarge) ? sure : timed;
      if (isLight) return carried === 0 ? taken(sought) : timed(sought + carried);
      const cost = (weight * ASSUMED) / BYTES + carried;
      if (!isMany && cost <= left) return taken(cost);
    }
    const isLarge = this.#sizes.isLarge;
    const mayBeLong = (!isLight || leadsOn || isLarge) && this.#sizes.mayHoldLong(plan.tables);
    // What few rows lead to, each of them may lead to: all that there is, as many times.
    const isKnown =
      !this.#isShared &&
      !this.#sizes.isOutdated &&
      isFew &&
      loops <= 1 &&
      !(leadsOn ? mayBeLong || isLarge || seeks > 1 : mayBeLong && isLarge);
    const taken = isKnown ? sure : timed;
    // It is looked at the clock between two rows, and not within one; nor for groups, when no row is visited any more.
    const mayWatch = plan.isWatchable && !having && !isPage;
    const looks = (!isLight || leadsOn) && mayBeLong ? looksAt(statement, plan) : [];
    if (loops === 0) {
      const passed = costOfPassing(offset, this.#sizes);
      const bare = sought + seeks * conditions + passed + carried;
      const cost = bare + this.#looks.of(looks, seeks, () => named(statement, parameters), left - bare);
      if (cost <= left || bare > left || !mayWatch || this.#sizes.know(plan.leadsTo)) return taken(cost);
      return this.#looks.of(looks, 1) > MOST_TESTS ? timed(cost) : DOUBTFUL;
    }
    const isWhole = statement.do === 'select' && statement.limit === undefined && per !== undefined;
    // Of a whole list of related records all that is visited is answered, and so counted as objects.
    const isAnswered = isWhole && conditions === 0;
    // Links lead to a record as often as there are links, and its texts are read each time, to be sorted.
    const isLinked = statement.do === 'select' && per?.through !== undefined;
    // Before the first is answered, all of them are put in order.
    if (isAnswered && isPage && !isLinked && plan.sorted.length === 0) return taken(sought);
    const visits = this.#visits(plan, isPage ? undefined : parameters);
    const each = VISIT + conditions + (inner > 1 ? inner : 0);
    const tests = isAnswered && visits <= MOST_ROWS ? visits : visits * each;
    const rest = left - sought - tests;
    const bare =
      sought +
      carried +
      tests +
      (plan.searches > 0 && rest >= 0
        ? costOfSearch(this.#database, this.#sizes, where, plan.searches, rest)
        : 0);
    const isRead = (isLinked || this.#sizes.bytes > SHORT_FILE) && statement.do !== 'match';
    const all = isRead ? [...looks, read(resource)] : looks;
    const cost = bare <= left ? bare + this.#looks.of(all, visits, part, left - bare, isLinked) : bare;
    if (cost <= MOST_TESTS || !mayWatch || !plan.looksUp || sought > MOST_TESTS || inner > MOST_TESTS)
      return taken(cost);
    return this.#looks.of(looks, 1) > MOST_TESTS ? timed(cost) : DOUBTFUL;
  }

  #costOfSorting(
    statement: Reading,
    { sorted }: Plan,
    given: number,
    part: () => Part | undefined,
    left: number,
  ): number {
    if (statement.do !== 'select') return 0;
    const { limit = Number.POSITIVE_INFINITY, most = Number.POSITIVE_INFINITY, per } = statement;
    const rows = Math.min(
      this.#sizes.rowsOf(statement.resource.table),
      per ? given * limit : Math.min(limit, most),
    );
    return this.#looks.of(sorted, rows, part, left);
  }

  /** Without parameters, whatever they are. */
  #visits({ loops, tables, rows: ofValues }: Plan, parameters: readonly unknown[] | undefined): number {
    const rows = Math.max(...tables.map(({ table }) => this.#sizes.rowsOf(table)));
    if (rows <= this.#sizes.most) return loops === 1 ? rows : rows ** loops / SELDOM;
    const counted =
      ofValues === undefined || !parameters
        ? Number.POSITIVE_INFINITY
        : this.#sizes.count(ofValues, [parameters[0]]);
    return counted <= MOST_ROWS ? counted : Number.POSITIVE_INFINITY;
  }
}
