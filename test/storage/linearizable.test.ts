/** Several processes on one database, killed again and again: each record still behaves as if there were only one. */

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { databases, JSON_HEADERS, sharedPostgres } from '../app.ts';
import { Folder, Server } from '../process.ts';
import { apply, type Operation, type Read, type State, violation, type Write } from './linearizable.ts';

/** How long clients work on each database; a long run sets more. */
const SECONDS = Number(process.env['LINEARIZABLE_SECONDS'] ?? 5);
const CLIENTS = 24;
const PROCESSES = 3;
const RECORDS = 5;
/** Longer than any answer may take; whoever waits so long learns nothing. */
const PATIENCE_MS = 15_000;

const sdl = 'type Register @resource { id: ID!  value: String! }';
const data = { registers: Array.from({ length: RECORDS }, () => ({ value: 'first' })) };

/** What came of one request: a state, or the code of an error. */
type Answer = State | 'VERSION_CONFLICT' | 'UNAVAILABLE' | 'OUTCOME_UNKNOWN';

async function send(url: string, init: RequestInit): Promise<{ response: Response; body: any } | undefined> {
  try {
    // When a kept connection breaks, the runtime sends a PUT again by itself: the second would hide the first.
    const response = await fetch(url, {
      ...init,
      keepalive: false,
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    return { response, body: await response.json() };
  } catch {
    return undefined;
  }
}

async function rest(url: string, id: number, init: RequestInit = {}): Promise<Answer> {
  const answer = await send(`${url}/registers/${id}`, init);
  if (!answer) return 'OUTCOME_UNKNOWN';
  const { response, body } = answer;
  if (!response.ok) return told(body.code, body);
  const version = Number(/^"(\d+)-/.exec(response.headers.get('ETag') ?? '')?.[1]);
  return { version, value: body.value };
}

async function graphql(url: string, query: string, variables: Record<string, unknown>): Promise<Answer> {
  const body = JSON.stringify({ query, variables });
  const answer = await send(`${url}/graphql`, { method: 'POST', headers: JSON_HEADERS, body });
  if (!answer) return 'OUTCOME_UNKNOWN';
  const { data, errors, code } = answer.body;
  if (!data?.register) return told(code ?? errors?.[0]?.extensions?.code, answer.body);
  return { version: data.register._version, value: data.register.value };
}

/** Nothing else is a fit answer, however many processes die. */
function told(code: unknown, body: unknown): Answer {
  if (code === 'VERSION_CONFLICT' || code === 'UNAVAILABLE' || code === 'OUTCOME_UNKNOWN') return code;
  throw new Error(`an answer that nothing here is a reason for: ${JSON.stringify(body)}`);
}

/** The two doors to a record. */
const doors = [
  {
    read: (url: string, id: number) => rest(url, id),
    write: (url: string, id: number, value: string, expected: number, fingerprint: string) =>
      rest(url, id, {
        method: 'PUT',
        headers: { ...JSON_HEADERS, 'If-Match': `"${expected}-${fingerprint}"` },
        body: JSON.stringify({ value }),
      }),
  },
  {
    read: (url: string, id: number) =>
      graphql(url, 'query ($id: ID!) { register(id: $id) { _version value } }', { id }),
    write: (url: string, id: number, value: string, expected: number) =>
      graphql(
        url,
        `mutation ($id: ID!, $value: String!, $expected: Int!) {
          register: updateRegister(id: $id, value: $value, ifVersion: $expected) { _version value }
        }`,
        { id, value, expected },
      ),
  },
] as const;

function pick<T>(list: readonly T[]): T {
  return list[Math.floor(Math.random() * list.length)] as T;
}

/** Writes down, for each record, what was asked of it and what was answered. */
class Recorder {
  readonly histories = new Map<number, Operation[]>();
  readonly #fingerprint: string;
  #serial = 0;
  /** Writes that were done, and that were refused. */
  done = 0;
  conflicts = 0;

  constructor(fingerprint: string) {
    this.#fingerprint = fingerprint;
    for (let id = 1; id <= RECORDS; id++) this.histories.set(id, []);
  }

  async read(url: string, id: number): Promise<State | undefined> {
    const invoked = performance.now();
    const saw = await pick(doors).read(url, id);
    const answered = performance.now();
    if (typeof saw === 'string') return undefined;
    this.histories.get(id)?.push({ do: 'read', invoked, answered, saw });
    return saw;
  }

  async write(url: string, id: number, expected: number): Promise<State | undefined> {
    const value = `w${this.#serial++}`;
    const invoked = performance.now();
    const answer = await pick(doors).write(url, id, value, expected, this.#fingerprint);
    const answered = performance.now();
    const note = (became: Write['became']) => {
      if (typeof became === 'number') this.done++;
      else if (became === 'conflict') this.conflicts++;
      this.histories.get(id)?.push({ do: 'write', invoked, answered, expected, value, became });
    };
    // UNAVAILABLE promises that nothing was changed: left out, its value must never be read.
    if (answer === 'UNAVAILABLE') return undefined;
    if (answer === 'OUTCOME_UNKNOWN') note('unknown');
    else if (answer === 'VERSION_CONFLICT') note('conflict');
    else {
      expect(answer.value).toBe(value);
      note(answer.version);
      return answer;
    }
    return undefined;
  }

  all(): Operation[] {
    return [...this.histories.values()].flat();
  }
}

/** Reads and writes by turns until it is told to stop, on any process that is up. */
async function client(recorder: Recorder, up: () => readonly string[], stopped: () => boolean) {
  const versions = new Map<number, number>();
  const ids = [...recorder.histories.keys()];
  let id = pick(ids);
  while (!stopped()) {
    const url = pick(up());
    // Staying with a record for a while, it writes with versions that are fresh enough to succeed at times.
    if (Math.random() < 0.25) id = pick(ids);
    const known = versions.get(id);
    if (url === undefined) await Bun.sleep(10);
    else {
      // Mostly the version it knows, at times one that is over or is yet to come.
      const expected = known && known + pick([0, 0, 0, 0, 0, 0, -1, 1]);
      const writes = expected !== undefined && Math.random() < 0.5;
      const state = await (writes ? recorder.write(url, id, expected) : recorder.read(url, id));
      // After a refusal or an unknown outcome it reads again, as it ought to.
      if (state) versions.set(id, state.version);
      else versions.delete(id);
    }
  }
}

describe.each([...databases])('on %s', (database) => {
  test(
    `records are linearizable for ${CLIENTS} clients of ${PROCESSES} processes that are killed`,
    async () => {
      using folder = new Folder({ 'schema.graphql': sdl, 'data.json': JSON.stringify(data) });
      const env = database === 'postgres' ? { DATABASE_URL: await (await sharedPostgres()).database() } : {};
      await using ends = new AsyncDisposableStack();
      const start = async () => ends.use(await Server.start(folder, env));
      const servers: (Awaited<ReturnType<typeof start>> | undefined)[] = await Promise.all(
        Array.from({ length: PROCESSES }, start),
      );
      const up = () => servers.flatMap((server) => server?.url ?? []);

      const tag = (await fetch(`${up()[0]}/registers/1`)).headers.get('ETag') ?? '';
      const [, version, fingerprint = ''] = /^"(\d+)-(\w+)"$/.exec(tag) ?? [];
      const initial: State = { version: Number(version), value: 'first' };
      const recorder = new Recorder(fingerprint);

      let kills = 0;
      const begun = performance.now();
      // A busy machine takes longer to come to as much.
      const isEnough = () =>
        kills >= PROCESSES && recorder.done > RECORDS * 4 && recorder.conflicts > RECORDS;
      const stopped = () => performance.now() - begun > SECONDS * (isEnough() ? 1000 : 8000);
      const clients = Array.from({ length: CLIENTS }, () => client(recorder, up, stopped));
      const killer = async (slot: number) => {
        while (!stopped()) {
          await Bun.sleep(200 + Math.random() * 1300);
          const server = servers[slot];
          server?.signal('SIGKILL');
          // Clients go on asking it for a moment: nobody tells them.
          await server?.exited();
          servers[slot] = undefined;
          kills++;
          servers[slot] = await start();
        }
      };
      // All of them, even when one fails: a server that is started later would be left behind.
      const ended = await Promise.allSettled([...clients, ...servers.map((_, slot) => killer(slot))]);
      for (const each of ended) if (each.status === 'rejected') throw each.reason;
      // Whatever was acknowledged must be there at the end, wherever one looks.
      for (const id of recorder.histories.keys())
        for (const url of up()) expect(await recorder.read(url, id)).toBeDefined();

      const writes = recorder.all().filter((each): each is Write => each.do === 'write');
      const outcomes = Map.groupBy(writes, ({ became }) => (typeof became === 'number' ? 'done' : became));
      const count = (outcome: 'done' | 'conflict' | 'unknown') => outcomes.get(outcome)?.length ?? 0;
      if (process.env['LINEARIZABLE_SECONDS']) {
        const values = new Set(recorder.all().map((each) => each.do === 'read' && each.saw.value));
        const late = outcomes.get('unknown')?.filter(({ value }) => values.has(value)).length ?? 0;
        console.info(
          `${recorder.all().length} operations, ${kills} kills; writes: ${count('done')} done, ${count('conflict')} refused, ${count('unknown')} unknown, of which ${late} were seen`,
        );
      }
      expect(kills).toBeGreaterThanOrEqual(PROCESSES);
      expect(count('done')).toBeGreaterThan(RECORDS * 4);
      expect(count('conflict')).toBeGreaterThan(RECORDS);

      for (const [id, history] of recorder.histories) {
        expect({ id, violation: violation(initial, history) }).toEqual({ id, violation: undefined });
        // The same history with one lie at its end: what passed above passed because it is right.
        const lie: Read = { ...(history.at(-1) as Read), saw: initial };
        expect(violation(initial, [...history, lie])).toBeDefined();
      }
    },
    120_000 + SECONDS * 2000,
  );
});

const first: State = { version: 1, value: 'a' };
const at = (invoked: number, answered: number) => ({ invoked, answered });
const read = (time: ReturnType<typeof at>, version: number, value: string): Read => ({
  do: 'read',
  ...time,
  saw: { version, value },
});
const write = (
  time: ReturnType<typeof at>,
  expected: number,
  value: string,
  became: Write['became'],
): Write => ({ do: 'write', ...time, expected, value, became });

test.each<[string, Operation[]]>([
  ['a stale read after an acknowledged write', [write(at(0, 1), 1, 'b', 2), read(at(2, 3), 1, 'a')]],
  [
    'two writes that succeeded with one version',
    [write(at(0, 5), 1, 'b', 2), write(at(1, 6), 1, 'c', 2), read(at(7, 8), 2, 'c')],
  ],
  [
    'an acknowledged write that nobody sees',
    [write(at(0, 1), 1, 'b', 2), write(at(2, 3), 1, 'c', 2), read(at(4, 5), 2, 'c')],
  ],
  ['a version that goes back', [write(at(0, 9), 1, 'b', 2), read(at(1, 2), 2, 'b'), read(at(3, 4), 1, 'a')]],
  ['a version that is given to another value', [write(at(0, 1), 1, 'b', 2), read(at(2, 3), 2, 'a')]],
  ['a version that is skipped', [write(at(0, 1), 1, 'b', 3)]],
  ['a refusal although the version is the expected one', [write(at(0, 1), 1, 'b', 'conflict')]],
  ['a refused write that happened', [write(at(0, 1), 2, 'b', 'conflict'), read(at(2, 3), 3, 'b')]],
  ['an unknown write seen before it was sent', [read(at(0, 1), 2, 'b'), write(at(2, 3), 1, 'b', 'unknown')]],
  [
    'an unknown write that happened and then did not',
    [write(at(0, 1), 1, 'b', 'unknown'), read(at(2, 3), 2, 'b'), read(at(4, 5), 1, 'a')],
  ],
  [
    'an unknown write that happened twice',
    [write(at(0, 1), 1, 'b', 'unknown'), read(at(2, 3), 2, 'b'), read(at(4, 5), 3, 'b')],
  ],
  [
    'two readers who disagree on the order of two writes',
    [write(at(0, 9), 1, 'b', 2), write(at(0, 9), 2, 'c', 3), read(at(1, 2), 3, 'c'), read(at(3, 4), 2, 'b')],
  ],
])('rejected: %s', (_, history) => {
  expect(violation(first, history)).toBeDefined();
});

test.each<[string, Operation[]]>([
  ['nothing', []],
  [
    'reads during a write that see either value',
    [write(at(0, 9), 1, 'b', 2), read(at(1, 4), 1, 'a'), read(at(2, 5), 2, 'b'), read(at(3, 6), 1, 'a')],
  ],
  ['a read that is answered late', [write(at(1, 2), 1, 'b', 2), read(at(0, 9), 1, 'a')]],
  [
    'a refusal during the write that caused it',
    [write(at(0, 9), 1, 'b', 2), write(at(1, 2), 1, 'c', 'conflict')],
  ],
  [
    'a refusal for a version that another write only then makes',
    [write(at(0, 9), 2, 'c', 'conflict'), write(at(1, 2), 1, 'b', 2), read(at(3, 4), 2, 'b')],
  ],
  ['an unknown write that never happened', [write(at(0, 1), 1, 'b', 'unknown'), read(at(2, 3), 1, 'a')]],
  [
    'an unknown write that happened late',
    [write(at(0, 1), 1, 'b', 'unknown'), read(at(2, 3), 1, 'a'), read(at(4, 5), 2, 'b')],
  ],
  [
    'an unknown write that only a refusal shows',
    [write(at(0, 1), 1, 'b', 'unknown'), write(at(2, 3), 1, 'c', 'conflict'), read(at(4, 5), 2, 'b')],
  ],
  [
    'of two unknown writes the later',
    [write(at(0, 1), 1, 'b', 'unknown'), write(at(2, 3), 1, 'c', 'unknown'), read(at(4, 5), 2, 'c')],
  ],
  [
    'unknown writes upon each other',
    [write(at(0, 1), 1, 'b', 'unknown'), write(at(0, 1), 2, 'c', 'unknown'), write(at(2, 3), 3, 'd', 4)],
  ],
])('accepted: %s', (_, history) => {
  expect(violation(first, history)).toBeUndefined();
});

/** Every order there is, without any thought. */
function anyOrder(state: State, left: readonly Operation[]): boolean {
  const known = left.filter((each) => each.do === 'read' || each.became !== 'unknown');
  if (known.length === 0) return true;
  return left.some((each) => {
    const next = known.every(({ answered }) => each.invoked <= answered) && apply(state, each);
    return next && anyOrder(next, left.toSpliced(left.indexOf(each), 1));
  });
}

test('it finds what trying every order finds', () => {
  const time = fc.tuple(fc.nat(8), fc.nat(6)).map(([from, length]) => at(from, from + length));
  const version = fc.integer({ min: 1, max: 3 });
  const value = fc.constantFrom('a', 'b');
  const reading = fc.tuple(time, version, value).map((args) => read(...args));
  const writing = fc
    .tuple(time, version, value, fc.constantFrom('done', 'conflict', 'unknown'))
    .map(([when, expected, text, outcome]) =>
      write(when, expected, text, outcome === 'done' ? expected + 1 : (outcome as Write['became'])),
    );
  const verdicts = new Set<boolean>();
  fc.assert(
    fc.property(fc.array(fc.oneof(reading, writing), { maxLength: 6 }), (history) => {
      const linearizable = anyOrder(first, history);
      verdicts.add(linearizable);
      expect(violation(first, history) === undefined).toBe(linearizable);
    }),
    { numRuns: 3000 },
  );
  expect(verdicts.size).toBe(2);
});
