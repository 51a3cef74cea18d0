/** `duet webhook`: who is told of changes. */

import { faulting, openDeployment, StartFault } from '../../app/deployment.ts';
import { DuetError } from '../../base/errors.ts';
import type { Observe } from '../../base/observe.ts';
import type { Config } from '../../config/config.ts';
import { Journal } from '../../engine/journal/journal.ts';
import {
  addWebhook,
  listWebhooks,
  removeWebhook,
  replayWebhook,
  rotateWebhook,
  testWebhook,
  type WebhookEntry,
} from '../../engine/webhooks/operator.ts';
import type { Model } from '../../schema/model.ts';
import { splitWords } from '../options.ts';

const USAGE =
  "use `webhook add URL --on Book.created [--on 'Order.*' …] [--allow-private]`, `webhook list`, `webhook remove|rotate|test ID` or `webhook replay ID --after POSITION`";
const PRIVATE = '--allow-private';
/** What is said of URLs that it would allow. */
const INSIDE = 'inside this network';

interface Output {
  /** The result: of `add` and `rotate`, the id and the secret, for scripts. */
  readonly write: (line: string) => void;
  /** Words for people. */
  readonly tell: (line: string) => void;
}

export function splitWebhookArguments(args: readonly string[]): { own: string[]; rest: string[] } {
  return splitWords(args, ['--on', '--after'], [PRIVATE]);
}

export async function webhookCommand(
  own: readonly string[],
  config: Config,
  observe: Observe,
  output: Output,
): Promise<void> {
  const work = readWords(own);
  if (config.database.kind === 'sqlite' && config.database.path === ':memory:')
    throw new StartFault('a database in memory keeps no webhooks: DATABASE_URL names another');
  const { model, database } = await openDeployment(config, observe);
  try {
    // Makes the table where no server has yet.
    await faulting(() => database.exclusively(async () => {}));
    await perform(work, new Journal(database, model), model, config.webhookTimeout, output);
  } catch (error) {
    if (!(error instanceof DuetError)) throw error;
    const faults = error.errors?.map(({ detail }) => detail) ?? [error.message];
    const hint = faults.some((fault) => fault.includes(INSIDE)) ? [`${PRIVATE} says that it is inside`] : [];
    throw new StartFault([...faults, ...hint].join('\n'));
  } finally {
    await database.close();
  }
}

async function perform(
  work: Work,
  journal: Journal,
  model: Model,
  timeout: number,
  { write, tell }: Output,
): Promise<void> {
  switch (work.do) {
    case 'list':
      for (const entry of await listWebhooks(journal)) for (const line of linesOf(entry)) write(line);
      return;
    case 'add': {
      const { id, secret } = await addWebhook(journal, model, work);
      write(id);
      write(secret);
      tell('Give the secret to the receiver, which verifies signatures with it: it is not shown again.');
      return;
    }
    case 'remove':
      await removeWebhook(journal, work.id);
      tell('Removed.');
      return;
    case 'rotate': {
      write((await rotateWebhook(journal, work.id)).secret);
      tell('Both secrets sign for 24 hours. The new one is not shown again.');
      return;
    }
    case 'test': {
      const { status, error } = await testWebhook(journal, work.id, timeout);
      if (error !== null) throw new StartFault(error);
      tell(`Delivered: the receiver answered ${status}.`);
      return;
    }
    case 'replay':
      await replayWebhook(journal, model, work.id, work.after);
      tell('What has happened since is delivered again.');
  }
}

type Work =
  | { readonly do: 'list' }
  | {
      readonly do: 'add';
      readonly url: string;
      readonly on: readonly string[];
      readonly allowsPrivate: boolean;
    }
  | { readonly do: 'remove' | 'rotate' | 'test'; readonly id: string }
  | { readonly do: 'replay'; readonly id: string; readonly after: string };

function readWords(own: readonly string[]): Work {
  const [action, operand, ...more] = own.filter((word) => !word.startsWith('-'));
  const valued = (flag: string) =>
    own.filter((word) => word.startsWith(`${flag}=`)).map((word) => word.slice(flag.length + 1));
  const [on, [after, ...others]] = [valued('--on'), valued('--after')];
  const allowsPrivate = own.includes(PRIVATE);
  const isBare = on.length === 0 && !allowsPrivate;
  if (more.length + others.length === 0) {
    if (action === 'list' && operand === undefined && isBare && after === undefined) return { do: action };
    if (operand !== undefined && after === undefined) {
      if (action === 'add') return { do: action, url: operand, on, allowsPrivate };
      if ((action === 'remove' || action === 'rotate' || action === 'test') && isBare)
        return { do: action, id: operand };
    }
    if (action === 'replay' && operand !== undefined && after !== undefined && isBare)
      return { do: action, id: operand, after };
  }
  throw new StartFault(USAGE);
}

/** A line for the webhook, and one for each of its last deliveries. */
function linesOf({
  id,
  url,
  on,
  at,
  disabled,
  rotatesUntil,
  position,
  waiting,
  deliveries,
}: WebhookEntry): string[] {
  const state = disabled === null ? 'in use' : `disabled: ${disabled}`;
  const rotating = rotatesUntil === null ? [] : [`two secrets until ${rotatesUntil}`];
  const first = [
    id,
    url,
    on.join(' '),
    `added ${at}`,
    state,
    ...rotating,
    `${waiting} waiting`,
    `at ${position}`,
  ];
  return [
    first.join('\t'),
    ...deliveries.map(({ at: when, type, record, event, attempt, result, status, error }) =>
      ['', when, type, record ?? '-', event, `attempt ${attempt}`, result, error ?? String(status)].join(
        '\t',
      ),
    ),
  ];
}
