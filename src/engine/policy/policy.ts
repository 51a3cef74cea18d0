/** Who may do what: the one gate that every operation of every door passes before anything is read or written. */

import { told } from '../../access/claims.ts';
import { Rights } from '../../access/rights.ts';
import { Rules } from '../../access/rules.ts';
import { Lru } from '../../base/lru.ts';
import { isEverything } from '../../query/filter.ts';
import type { Action, Model, Resource } from '../../schema/model.ts';
import { answerable } from '../../schema/values.ts';
import { type Caller, rolesOf } from '../caller.ts';
import type { ChangesRead } from '../journal/changes-operation.ts';
import type { Act, Operation, Write } from '../operation.ts';
import { Access, type RoleRights } from './access.ts';
import type { Permitted } from './permitted.ts';
import { mayRace } from './races.ts';
import {
  changedSelection,
  changeRights,
  mustBeReadable,
  readableAggregate,
  readableList,
  readableSelection,
  readableWhere,
} from './reading.ts';
import { mayGive } from './writing.ts';

/** Whoever signs tokens decides how many sets of roles there are; this many are remembered. */
const MOST_KEPT = 1000;
/** Claims that are of a token, and not of whoever has it: a retry may come with the next one (RFC 7519, section 4.1). */
const OF_TOKEN: ReadonlySet<string> = new Set(['exp', 'nbf', 'iat', 'jti']);

export class Policy {
  /** Undefined without authentication: then everything is allowed to everybody, and start-up says so in the log. */
  readonly #rules: Rules | undefined;
  readonly #byRoles = new Lru<string, RoleRights>(MOST_KEPT);
  readonly #byCaller = new WeakMap<Caller, Access>();

  /** Whether functions of the deployment are told who the caller is: what they make of it, nobody knows. */
  readonly #tellsFunctions: boolean;

  constructor(model: Model, authentication: boolean, tellsFunctions = false) {
    this.#rules = authentication ? new Rules(model) : undefined;
    this.#tellsFunctions = tellsFunctions;
  }

  /** What this caller may do. */
  access(caller: Caller): Access {
    let access = this.#byCaller.get(caller);
    if (!access) {
      access = new Access(caller, this.#rules && this.#rightsOf(caller, this.#rules));
      this.#byCaller.set(caller, access);
    }
    return access;
  }

  /** The operation as far as the rules allow it; throws when they do not. */
  permit<O extends Operation>(caller: Caller, operation: O): Permitted<O> {
    const passed = this.#rules ? allowed(this.access(caller), operation) : operation;
    return passed as Permitted<O>;
  }

  /**
   * Whose Idempotency-Keys the caller's are. A kept answer shows what its first caller could see: the same subject with
   * other roles, or other claims that a rule uses, is somebody else; where functions are told all claims, all of them count.
   * All roles do: those that rules name are others in the next file, during whose rollout a write may be sent again. Under
   * other rules it is the same caller still, whose write is not done again; but what was answered is not shown.
   */
  holder({ subject, roles, claims }: Caller): { readonly caller: string; readonly rules: string } {
    const rules = this.#rules;
    if (!rules) return { caller: '', rules: '' };
    const given = Object.keys(claims).filter((name) => !OF_TOKEN.has(name));
    const used = new Set(this.#tellsFunctions ? [...rules.claims, ...given] : rules.claims);
    // That is the subject: a file that begins to use it makes nobody another.
    used.delete('sub');
    return {
      caller: hashed(JSON.stringify([subject ?? null, [...new Set(roles)].sort(), told(used, claims)])),
      rules: rules.fingerprint,
    };
  }

  /** The same for all who see the same: who they are matters only where a rule, or a function, is told it. */
  viewer({ subject, roles, claims }: Caller): string {
    const rules = this.#rules;
    if (!rules) return '';
    const tells = this.#tellsFunctions;
    const names = tells ? roles : [...rules.roles].filter((role) => roles.includes(role));
    const used = tells ? new Set([...rules.claims, ...Object.keys(claims)]) : rules.claims;
    const who = tells ? (subject ?? null) : subject !== undefined;
    return hashed(rules.fingerprint + JSON.stringify([who, [...names].sort(), told(used, claims)]));
  }

  /** Whether rules decide what is shown of a record, and not only to whom: those of its fields, or of what it refers to. */
  shapes(resource: Resource): boolean {
    if (!this.#rules || resource.allow.length === 0) return false;
    return resource.references.length > 0 || answerable(resource).some((field) => field.allow.length > 0);
  }

  /** Whether one transaction of these writes must be as if it ran alone, whoever the caller is. */
  mayRace(writes: readonly Write[]): boolean {
    return this.#rules !== undefined && mayRace(this.#rules, writes);
  }

  #rightsOf(caller: Caller, rules: Rules): RoleRights {
    const known = rolesOf(caller).filter((role) => rules.roles.has(role));
    const key = JSON.stringify(known.sort());
    let rights = this.#byRoles.get(key);
    if (!rights) {
      rights = { rights: new Rights(rules, known), made: new WeakMap() };
      this.#byRoles.set(key, rights);
    }
    return rights;
  }
}

type OnRecords = Exclude<Operation, Act | ChangesRead>;

const actions: Readonly<Record<OnRecords['do'], Action>> = {
  list: 'READ',
  get: 'READ',
  aggregate: 'READ',
  create: 'CREATE',
  'create many': 'CREATE',
  // Whether it changes a record is known when it is looked up.
  upsert: 'CREATE',
  'upsert many': 'CREATE',
  update: 'UPDATE',
  'update many': 'UPDATE',
  delete: 'DELETE',
  'delete many': 'DELETE',
  // Whether it changes a record or creates it again is known when it is looked up.
  restore: 'HISTORY',
};

/** What may change records that are there. */
const changing: ReadonlySet<OnRecords['do']> = new Set([
  'update',
  'update many',
  'upsert',
  'upsert many',
  'restore',
]);

function allowed(access: Access, operation: Operation): Operation {
  // Whoever carries it out asks for its roles.
  if (operation.do === 'act' || operation.do === 'ask') return operation;
  if (operation.do === 'changes') return allowedChanges(access, operation);
  const { resource } = operation;
  access.admit(resource, actions[operation.do]);
  if (operation.do === 'aggregate') return readableAggregate(access, operation);
  if (operation.do === 'list')
    return access.kept(operation, () => ({
      ...operation,
      selection: readableSelection(access, resource, operation.selection),
      list: readableList(access, resource, operation.list),
    }));
  const shown = changing.has(operation.do) ? changedSelection : readableSelection;
  const selection = shown(access, resource, operation.selection);
  switch (operation.do) {
    case 'create':
      mayGive(access, resource, operation.input);
      return { ...operation, selection };
    case 'create many':
      operation.inputs.forEach((input, index) => {
        mayGive(access, resource, input, [index]);
      });
      return { ...operation, selection };
    case 'upsert':
    case 'upsert many':
      // Whether a record is found by a value tells that it has it.
      for (const column of operation.by) mustBeReadable(access, resource, column, 'an upsert');
      return { ...operation, selection };
    case 'update many':
    case 'delete many':
      return { ...operation, selection, where: readableWhere(access, resource, operation.where) };
    default: {
      const seen = access.rows(resource, 'READ');
      return isEverything(seen) && selection === operation.selection
        ? operation
        : { ...operation, selection, seen };
    }
  }
}

/** Of several types, those that the caller may read at all. */
function allowedChanges(access: Access, operation: ChangesRead): ChangesRead {
  const [first, ...others] = operation.resources;
  const open = operation.resources.filter((each) => access.actions(each).includes('READ'));
  if (first && (others.length === 0 || open.length === 0)) access.admit(first, 'READ');
  const resources = others.length === 0 ? operation.resources : open;
  const where =
    first && !isEverything(operation.where) ? readableWhere(access, first, operation.where) : operation.where;
  const rights = new Map(resources.map((each) => [each, changeRights(access, each)]));
  return { ...operation, resources, where, rights };
}

/** Subjects and claims may be too long for an index. */
function hashed(text: string): string {
  return new Bun.CryptoHasher('sha256').update(text).digest('base64url');
}
