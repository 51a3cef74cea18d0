/** Which changes a webhook is told of, and how: as events of CloudEvents 1.0. */

import { membersOf } from '../../base/members.ts';
import { PassedJson } from '../../base/passed.ts';
import type { Model, Resource } from '../../schema/model.ts';
import { didYouMean } from '../../schema/suggest.ts';
import type { Change } from '../journal/showing.ts';

export const CLOUD_EVENT_TYPE = 'application/cloudevents+json';
export const kinds = ['created', 'updated', 'deleted'] as const;
const ANY = '*';

export interface CloudEvent {
  readonly specversion: '1.0';
  /** The position of the change: the same whenever it is told, so that a receiver knows what it has seen. */
  readonly id: string;
  readonly source: string;
  readonly type: string;
  readonly subject?: string;
  readonly time: string;
  readonly datacontenttype: 'application/json';
  readonly data: unknown;
}

export function eventOf({ path }: Resource, change: Change): CloudEvent {
  return {
    specversion: '1.0',
    id: change.position,
    source: `/${path}`,
    type: `${change.resource}.${change.kind.toLowerCase()}`,
    subject: String(change.key),
    time: change.at,
    datacontenttype: 'application/json',
    data: change,
  };
}

const WHOLE: ReadonlySet<string> = new Set(['event']);
const DATA: ReadonlySet<string> = new Set(['data']);

/** The event that a delivery was given; what it tells of is passed on. */
export function eventIn({ text }: PassedJson): CloudEvent {
  const { event } = membersOf(text, WHOLE) as { readonly event: PassedJson };
  return membersOf(event.text, DATA) as unknown as CloudEvent;
}

const IMAGES: ReadonlySet<string> = new Set(['before', 'after']);

/** The same without what the record was; `text`: what a delivery is given. */
export function eventWithout(text: string): CloudEvent {
  const event = eventIn(new PassedJson(text));
  const data = membersOf((event.data as PassedJson).text, IMAGES);
  return { ...event, data: { ...data, before: null, after: null } };
}

/** To see whether a receiver is there; nothing has happened. */
export function testEvent(): CloudEvent {
  return {
    specversion: '1.0',
    id: crypto.randomUUID(),
    source: '/',
    type: 'duet.test',
    time: new Date().toISOString(),
    datacontenttype: 'application/json',
    data: null,
  };
}

/** Whether one of `Book.created`, `Book.*`, `*.created` and `*` means it. */
export function matches(patterns: readonly string[], { resource, kind }: Change): boolean {
  return patterns.some((pattern) => {
    const [type, of = ANY] = pattern.split('.');
    return (type === ANY || type === resource) && (of === ANY || of === kind.toLowerCase());
  });
}

/** The types whose changes can match. */
export function typesOf(patterns: readonly string[], { resources }: Model): Resource[] {
  const named = new Set(patterns.map((pattern) => pattern.split('.')[0]));
  return resources.filter(({ name, journal }) => journal && (named.has(ANY) || named.has(name)));
}

/** Whether there can be changes of other types that match, by a file that is newer than this one. */
export function mayMatchOthers(patterns: readonly string[], { byType }: Model): boolean {
  return patterns.some((pattern) => !byType.get(pattern.split('.')[0] ?? '')?.journal);
}

/** What is wrong with a pattern; undefined where nothing is. */
export function faultOf(pattern: string, { byType, resources }: Model): string | undefined {
  const [type = '', kind = ANY, ...more] = pattern.split('.');
  if (more.length > 0 || !pattern.includes('.') === (type !== ANY))
    return `"${pattern}" is no event. Write a type and what happens to it, such as Book.created or 'Book.*', or '*' for everything`;
  if (kind !== ANY && !kinds.some((each) => each === kind))
    return `"${pattern}": nothing is "${kind}".${didYouMean(kind, kinds)} There are ${kinds.join(', ')} and *`;
  const journaled = resources.filter(({ journal }) => journal).map(({ name }) => name);
  if (type === ANY ? journaled.length > 0 : byType.get(type)?.journal) return undefined;
  if (type === ANY) return 'no type keeps its changes. Add @journal to those that webhooks are to tell of';
  return byType.has(type)
    ? `the type "${type}" keeps no changes. Add @journal to it`
    : `the schema has no type "${type}".${didYouMean(type, journaled)}`;
}
