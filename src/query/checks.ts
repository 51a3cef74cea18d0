/** `@check`: what must be true of every record of a type, as filters over the record's own fields. */

import type { CheckRule, Column, Model, Place, Resource } from '../schema/model.ts';
import type { Rule } from '../schema/rules/rule.ts';
import { didYouMean } from '../schema/suggest.ts';
import {
  type Condition,
  conditionsOn,
  everything,
  FieldOperand,
  type Filter,
  isEverything,
} from './filter.ts';
import { WhereReader } from './where.ts';

export interface Check {
  readonly where: Filter;
  readonly message: string;
}

const none: readonly Check[] = [];
const known = new WeakMap<Resource, readonly Check[]>();

export function checksOf(resource: Resource): readonly Check[] {
  if (resource.checks.length === 0) return none;
  let checks = known.get(resource);
  if (!checks) {
    checks = resource.checks.map((rule) => ({
      where: read(resource, rule, (_, message) => {
        throw new Error(message);
      }),
      message: rule.message,
    }));
    known.set(resource, checks);
  }
  return checks;
}

type Report = (place: Place, message: string) => void;

export const checksFit: Rule = (model: Model, report) => {
  for (const resource of model.resources)
    for (const rule of resource.checks) {
      if (rule.message.trim() === '')
        report(rule.place, `A @check of ${resource.name} has no message. Say what must be true.`);
      let sound = true;
      const where = read(resource, rule, (place, message) => {
        sound = false;
        report(place, message);
      });
      if (sound && isEverything(where))
        report(rule.place, `A @check of ${resource.name} asks for nothing. Say what must match.`);
      for (const each of sound ? conditionsOn(where) : []) fits(resource, each, rule.place, report);
    }
};

function fits(resource: Resource, each: Condition, place: Place, report: Report): void {
  const { name, key } = resource;
  if (each.is === 'related' || each.is === 'some') {
    const cure =
      each.is === 'related'
        ? `Ask for "${each.field.column.name}", or use a rule: @allow(…)`
        : 'Use a rule: @allow(…)';
    report(
      place,
      `A @check of ${name} asks for "${each.field.name}", which leads to other records; it can ask for the record's own fields only. ${cure}`,
    );
    return;
  }
  // No file can ask for words.
  if (each.is === 'search') return;
  const columns = [each.column];
  if ('values' in each && each.values.some((value) => value instanceof FieldOperand))
    report(
      place,
      `A @check of ${name} holds "${each.column.name}" against another field in a list. Name values in it.`,
    );
  if ('value' in each && each.value instanceof FieldOperand) {
    const other = each.value.column;
    columns.push(other);
    if (!comparable.includes(each.is))
      report(
        place,
        `A @check of ${name} holds "${each.column.name}" against another field by "${each.is}". Use one of: ${comparable.join(', ')}.`,
      );
    else if (each.column.type !== other.type || other.list)
      report(
        place,
        `A @check of ${name} compares "${each.column.name}" with "${other.name}", which is of another type. Compare fields of one type.`,
      );
    else if ((each.column.folded === undefined) !== (other.folded === undefined))
      report(
        place,
        `A @check of ${name} compares "${each.column.name}" with "${other.name}", of which one is @caseless. Add it to both, or to neither.`,
      );
  }
  if (columns.includes(key) && key.origin.by === 'serial')
    report(
      place,
      `A @check of ${name} asks for "${key.name}", which a record does not have before it is created. Ask for another field.`,
    );
}

const comparable: readonly string[] = ['eq', 'ne', 'gt', 'gte', 'lt', 'lte'];

function read(resource: Resource, { place, where }: CheckRule, report: Report): Filter {
  let sound = true;
  const refuse = (message: string) => {
    sound = false;
    report(place, message);
  };
  let hint = '';
  const reader = new WhereReader(
    (_, value) => {
      if (typeof value === 'object') hint = ' Another field is written { field: "name" }.';
      return value;
    },
    (path, _, detail) => {
      const at = path.length > 0 ? ` at ${path.join('.')}` : '';
      const sentence = /[.?]$/.test(detail) ? detail : `${detail}.`;
      refuse(`A @check of ${resource.name} does not fit${at}: ${sentence}${hint}`);
      hint = '';
    },
    () => true,
  );
  const filter = reader.read(resource, withFields(resource, where, refuse));
  return sound ? filter : everything;
}

/** No column can be compared with an object, so what looks like another field is one. */
function withFields(resource: Resource, value: unknown, refuse: (message: string) => void): unknown {
  if (Array.isArray(value)) return value.map((each) => withFields(resource, each, refuse));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value);
  const [[name, field] = []] = entries;
  if (entries.length === 1 && name === 'field' && typeof field === 'string')
    return new FieldOperand(fieldOf(resource, field, refuse));
  return Object.fromEntries(entries.map(([each, inner]) => [each, withFields(resource, inner, refuse)]));
}

function fieldOf(resource: Resource, name: string, refuse: (message: string) => void): Column {
  const column = resource.columns.find((each) => each.name === name);
  if (column) return column;
  const names = resource.columns.map((each) => each.name);
  const cure = didYouMean(name, names) || ` There are: ${names.join(', ')}.`;
  refuse(`A @check of ${resource.name} names "${name}", which is no stored field of it.${cure}`);
  return resource.key;
}
