/**
 * react-admin on Duet: `<Admin dataProvider={duetProvider('http://localhost:4000')}>`. The name of a `<Resource>` is its path.
 * A filter is a value (`{ genre: 'NOVEL' }`), several, or operators (`{ pages: { gte: 300 } }`); `q` searches. An update
 * sends what was changed, and is refused (412) when somebody else was faster.
 */

import type { DataProvider, GetListParams, Identifier, RaRecord } from 'react-admin';

/** `guard` is the record that must not have been changed since. */
type Sent = { body?: unknown; guard?: Partial<RaRecord> | undefined; signal?: AbortSignal | undefined };
type Token = () => string | undefined | Promise<string | undefined>;

export function duetProvider(url: string, { token }: { token?: Token } = {}): DataProvider {
  async function send(method: string, path: string, { body, guard, signal }: Sent = {}) {
    const headers = new Headers();
    const bearer = await token?.();
    if (bearer !== undefined) headers.set('Authorization', `Bearer ${bearer}`);
    if (body !== undefined) headers.set('Content-Type', 'application/json');
    if (guard?.['_version'] !== undefined) headers.set('If-Match', `"${guard['_version']}"`);
    const text = body === undefined ? null : JSON.stringify(body);
    const response = await fetch(url + path, { method, headers, body: text, signal: signal ?? null });
    const told = await response.text();
    const answer = told === '' ? null : JSON.parse(told);
    if (response.ok) return { answer, total: Number(response.headers.get('X-Total-Count')) };
    // What is wrong with each field, as forms show it.
    const faults: { pointer?: string; detail: string }[] = answer.errors ?? [];
    const errors = Object.fromEntries(faults.map(({ pointer = '#', detail }) => [pointer.slice(2), detail]));
    throw Object.assign(new Error(answer.detail), { status: response.status, body: { ...answer, errors } });
  }

  let description: ReturnType<typeof send> | undefined;
  /** The key of a resource, and its fields: to have their versions too, records are asked for by all names. */
  async function shape(resource: string) {
    description ??= send('GET', '/openapi.json?profile=client');
    const { paths, components } = (await description).answer;
    const below = `/${resource}/{`;
    const path = Object.keys(paths).find((each) => each.startsWith(below));
    const key = path?.slice(below.length, -1) ?? 'id';
    const { items } = paths[`/${resource}`].get.responses[200].content['application/json'].schema;
    const { properties } = components.schemas[items.$ref.split('/').at(-1)];
    const record = (row: Record<string, unknown>) => ({ ...row, id: row[key] });
    return { key, record, fields: [...Object.keys(properties), '_version'].join() };
  }

  const pathOf = (resource: string, id: Identifier) => `/${resource}/${encodeURIComponent(id)}`;

  async function one(method: string, resource: string, path: string, sent: Sent) {
    const { fields, record } = await shape(resource);
    return { data: record((await send(method, `${path}?fields=${fields}`, sent)).answer) };
  }

  const operators = (value: unknown) =>
    Array.isArray(value) ? { in: value } : Object(value) === value ? value : { eq: value };

  async function list(resource: string, { pagination, sort, filter, signal }: GetListParams, more = {}) {
    const { key, fields, record } = await shape(resource);
    const named = (name: string) => (name === 'id' ? key : name);
    const { q, ...asked } = filter ?? {};
    const where = Object.entries(asked).map(([name, value]) => [named(name), operators(value)]);
    const query = new URLSearchParams({ fields, where: JSON.stringify(Object.fromEntries(where)), ...more });
    if (q) query.set('search', q);
    if (sort) query.set('sort', (sort.order === 'DESC' ? '-' : '') + named(sort.field));
    const { page = 1, perPage = 1000 } = pagination ?? {};
    for (const [name, value] of Object.entries({ limit: perPage, offset: (page - 1) * perPage, count: true }))
      query.set(name, `${value}`);
    const { answer, total } = await send('GET', `/${resource}?${query}`, { signal });
    return { data: answer.map(record), total };
  }

  /** Forms send whole records. */
  const changes = (data: Partial<RaRecord>, before: Partial<RaRecord> = {}) => {
    const isChanged = (name: string) => JSON.stringify(data[name]) !== JSON.stringify(before[name]);
    return Object.fromEntries(
      Object.entries(data).filter(([name]) => name !== '_version' && isChanged(name)),
    );
  };

  /** All of them, or none. */
  async function each(ids: Identifier[], resource: string, step: object) {
    const operations = ids.map((id) => ({ ...step, path: pathOf(resource, id) }));
    await send('POST', '/transaction', { body: { operations } });
    return { data: ids };
  }

  return {
    supportAbortSignal: true,
    getList: (resource, params) => list(resource, params),
    getOne: (resource, { id, signal }) => one('GET', resource, pathOf(resource, id), { signal }),
    getMany: (resource, { ids, ...params }) => list(resource, { ...params, filter: { id: ids } }),
    getManyReference: (resource, { target, id, ...params }) =>
      list(resource, params, { [`${target}[eq]`]: id }),
    create: (resource, { data }) => one('POST', resource, `/${resource}`, { body: changes(data) }),
    update: (resource, { id, data, previousData: guard }) =>
      one('PUT', resource, pathOf(resource, id), { body: changes(data, guard), guard }),
    updateMany: (resource, { ids, data }) => each(ids, resource, { method: 'PUT', body: changes(data) }),
    delete: (resource, { id, previousData: guard }) =>
      send('DELETE', pathOf(resource, id), { guard }).then(() => ({ data: guard })),
    deleteMany: (resource, { ids }) => each(ids, resource, { method: 'DELETE' }),
  } as DataProvider;
}
