/** The `@allow` rules of a file, made sense of: who may do what, on which records. */

import { withClaims } from '../query/claim.ts';
import { canonical, conditionsOn, everything, type Filter, reached } from '../query/filter.ts';
import { WhereReader } from '../query/where.ts';
import type { Action, AllowRule, Field, Model, Place, Resource } from '../schema/model.ts';
import { answerable } from '../schema/values.ts';
import { claimsIn } from './claims.ts';

/** Everybody who is known has it, whatever else the token says. */
export const AUTHENTICATED = 'authenticated';

export interface AccessRule {
  readonly place: Place;
  readonly to: readonly Action[];
  /** Undefined for everybody, the anonymous too. */
  readonly role: string | undefined;
  /** May hold claims. A rule sees every record, whatever its caller may see. */
  readonly where: Filter;
  /** What a record must match after an update, where that is not `where` again. */
  readonly check: Filter | undefined;
}

export type ReportRule = (place: Place, message: string) => void;

const actions: Readonly<Record<'type' | 'field', readonly Action[]>> = {
  type: ['READ', 'CREATE', 'UPDATE', 'DELETE', 'HISTORY'],
  field: ['READ', 'CREATE', 'UPDATE'],
};

export class Rules {
  /** Every role that a rule names. */
  readonly roles = new Set<string>();
  /** Every claim that a rule asks for, or that a field is set from. */
  readonly claims = new Set<string>();
  /** Equal for equal rules. */
  readonly fingerprint: string;
  /** The resources whose rules for writing look beyond the record that is written, and those that they look at. */
  readonly looking = new Set<Resource>();
  readonly lookedAt = new Set<Resource>();
  /** A reference and its column have the same rules. */
  readonly #compiled = new Map<readonly AllowRule[], readonly AccessRule[]>();
  readonly #report: ReportRule;

  constructor(model: Model, report: ReportRule = refuse) {
    this.#report = report;
    for (const resource of model.resources) {
      this.#compile(resource, resource, 'type');
      for (const field of answerable(resource)) this.#compile(field, resource, 'field');
      for (const { origin } of resource.columns) if (origin.by === 'claim') this.claims.add(origin.claim);
    }
    const written = JSON.stringify(model.resources.flatMap((resource) => this.#written(resource)).sort());
    this.fingerprint = new Bun.CryptoHasher('sha256').update(written).digest('base64url');
  }

  /** Of what has rules: the rest is as closed, or as open, as what it is a part of. */
  #written(resource: Resource): string[] {
    const ruled = [resource, ...answerable(resource)].filter((on) => this.of(on).length > 0);
    const written = ({ to, role, where, check }: AccessRule) =>
      JSON.stringify([
        [...to].sort(),
        role,
        ...[where, ...(check ? [check] : [])].map((each) => [
          canonical(each),
          ...[...new Set(leads(each, resource))].sort(),
        ]),
      ]);
    return ruled.map((on) =>
      JSON.stringify([
        on === resource ? on.name : `${resource.name}.${on.name}`,
        ...this.of(on).map(written).sort(),
      ]),
    );
  }

  of({ allow }: Resource | Field): readonly AccessRule[] {
    return this.#compiled.get(allow) ?? [];
  }

  #compile({ allow, name }: Resource | Field, resource: Resource, on: 'type' | 'field'): void {
    if (this.#compiled.has(allow)) return;
    const where = on === 'type' ? resource.name : `${resource.name}.${name}`;
    const compiled = allow.map((rule): AccessRule => {
      const { place, to, role } = rule;
      const beyond = to.filter((action) => !actions[on].includes(action));
      if (to.length === 0)
        this.#report(place, `The rule on "${where}" allows nothing. Name what: to: [READ]`);
      if (beyond.length > 0)
        this.#report(
          place,
          `"${where}" is a field: a rule on it can allow ${actions.field.join(', ')}. Move ${beyond.join(', ')} to the type.`,
        );
      if (role === '')
        this.#report(place, `The rule on "${where}" names no role. Name one, or leave it out.`);
      if (role !== undefined) this.roles.add(role);
      if (rule.check !== undefined && on === 'field')
        this.#report(place, `"${where}" is a field: a rule on it has no "check". Move the rule to the type.`);
      else if (rule.check !== undefined && to.some((action) => action !== 'UPDATE'))
        this.#report(
          place,
          `The rule on "${where}" has a "check", which a record is held against after an UPDATE. Give UPDATE a rule of its own: @allow(to: [UPDATE], …)`,
        );
      const filter = this.#filter(resource, place, rule.where, where);
      const check = rule.check === undefined ? undefined : this.#filter(resource, place, rule.check, where);
      for (const each of check ? [filter, check] : [filter]) {
        for (const claim of claimsIn(each)) this.claims.add(claim);
        if (to.some((action) => action !== 'READ' && action !== 'HISTORY'))
          for (const other of reached(each)) {
            this.looking.add(resource);
            this.lookedAt.add(other);
          }
      }
      return { place, to, role, where: filter, check };
    });
    this.#compiled.set(allow, compiled);
  }

  #filter(resource: Resource, place: Place, where: unknown, on: string): Filter {
    if (where === undefined) return everything;
    let hint = '';
    const reader = new WhereReader(
      (_, value) => {
        if (typeof value === 'object') hint = ' A claim is written { claim: "sub" }.';
        return value;
      },
      (path, _, detail) => {
        const at = path.length > 0 ? ` at ${path.join('.')}` : '';
        const sentence = /[.?]$/.test(detail) ? detail : `${detail}.`;
        this.#report(place, `The rule on "${on}" does not fit${at}: ${sentence}${hint}`);
        hint = '';
      },
      () => true,
    );
    return reader.read(resource, withClaims(where));
  }
}

function refuse({ line }: Place, message: string): never {
  throw new Error(`line ${line}: ${message}`);
}

/** Where the words of a filter lead: the same words are another rule where they lead elsewhere, or compare otherwise. */
function leads(where: Filter, { table }: Resource): string[] {
  return conditionsOn(where).flatMap((each) => {
    if (each.is === 'search') return [`${table} ${each.resource.searched.map(({ stored }) => stored)}`];
    if (!('where' in each)) {
      const { name, stored, folded } = each.column;
      return [`${table}.${name} ${stored}${folded ? ' caseless' : ''}`];
    }
    const { name, target } = each.field;
    const by = each.is === 'some' ? each.field.reference : each.field;
    return [`${table}.${name} ${target.table} ${by.column.stored}`, ...leads(each.where, target)];
  });
}
