/** What has happened to a record, the last first, and the way back. */

import { useSignal } from '@preact/signals';
import { type Change, type ChangesAsk, type RestoreAsk, SHOWN_CHANGES } from '../ask.ts';
import { send } from '../doors/send.ts';
import type { Fault } from '../doors/wire.ts';
import { dataLink, to } from '../links.ts';
import type { Resource, Row, Schema } from '../schema/types.ts';
import { door, isRefused } from '../session.ts';
import { tell } from '../told.ts';
import { useAnswer } from './answer.ts';
import { useDock } from './dock.tsx';
import { Dialog, Empty, FaultNotice } from './parts.tsx';
import { moment, Value } from './value.tsx';

interface Props {
  schema: Schema;
  resource: Resource;
  id: string;
  /** The position that this page begins after. */
  after: string | undefined;
}

export function History({ schema, resource, id, after }: Props) {
  const ask: ChangesAsk = { do: 'changes', resource, key: id, after };
  const { answer, fault, again } = useAnswer(ask, schema);
  const changes = answer?.changes ?? [];
  const last = changes.at(-1);
  const next = changes.length === SHOWN_CHANGES ? last : undefined;
  /** How the record is now, where this page tells it. */
  const now = next ? undefined : last;
  const may =
    resource.operations.has('RESTORE') &&
    !isRefused(resource, now?.kind === 'DELETED' ? 'CREATE' : 'UPDATE', id);
  const restoring = ({ version }: Change): RestoreAsk => ({ do: 'restore', resource, key: id, version });
  const shown = changes.toReversed().map((change) => ({ change, image: may ? imageOf(change, now) : null }));
  const first = shown.find(({ image }) => image);
  useDock([
    { title: 'Its history', ask, answer },
    ...(first ? [{ title: 'Restore it', ask: restoring(first.change) }] : []),
  ]);
  if (fault) return <FaultNotice fault={fault} again={again} />;
  if (!answer) return null;
  const link = dataLink(resource.name, 'record', id);
  return (
    <>
      <div class="heading">
        <div>
          <p class="crumbs">
            <a href={dataLink(resource.name)}>{resource.name}</a> <a href={link}>{id}</a>
          </p>
          <h1>History</h1>
        </div>
      </div>
      {next && (
        <a
          class="button"
          href={to(['data', resource.name, 'record', id, 'history'], { after: next.position })}
        >
          Later changes
        </a>
      )}
      {shown.length === 0 && (
        <Empty icon="search" title="Nothing is told of its past">
          <span>Nothing is kept of it any more, or you may not see it: that takes the right to HISTORY.</span>
        </Empty>
      )}
      <ol class="history">
        {shown.map(({ change, image }) => (
          <li key={change.position}>
            <header>
              <h2>
                <span class="tag">{change.kind}</span> version {change.version}
              </h2>
              <span class="quiet">
                <time dateTime={change.at}>{moment(change.at)}</time>
                {change.caller !== undefined && `, by ${change.caller ?? 'somebody without a name'}`}
              </span>
              {change === now && now.kind !== 'DELETED' && <span class="quiet">as it is now</span>}
              {image && (
                <Restore
                  ask={restoring(change)}
                  schema={schema}
                  now={now?.after}
                  image={image}
                  onDone={again}
                />
              )}
            </header>
            <Differences resource={resource} schema={schema} before={change.before} after={change.after} />
          </li>
        ))}
      </ol>
    </>
  );
}

/** What a restore of this change would write: nothing for what the record is already. */
function imageOf(change: Change, now: Change | undefined): Row | null | undefined {
  if (change !== now) return change.after;
  return change.kind === 'DELETED' ? change.before : null;
}

interface DifferencesProps {
  resource: Resource;
  schema: Schema;
  before?: Row | null | undefined;
  after: Row | null;
}

function Differences({ resource, schema, before, after }: DifferencesProps) {
  if (!before && !after) return <p class="quiet">What it was is not kept, or not shown to you.</p>;
  const same = (name: string) => JSON.stringify(before?.[name]) === JSON.stringify(after?.[name]);
  const columns = resource.columns.filter(({ name }) => !same(name));
  if (columns.length === 0) return <p class="quiet">No field has another value.</p>;
  return (
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th scope="col">field</th>
            {before && <th scope="col">before</th>}
            {after && <th scope="col">after</th>}
          </tr>
        </thead>
        <tbody>
          {columns.map((column) => (
            <tr key={column.name}>
              <th scope="row">{column.name}</th>
              {[before, after].map(
                (row, at) =>
                  row && (
                    <td key={at} data-of={at === 0 ? 'before' : 'after'}>
                      <Value column={column} row={row} schema={schema} />
                    </td>
                  ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface RestoreProps {
  ask: RestoreAsk;
  schema: Schema;
  now: Row | null | undefined;
  image: Row;
  onDone: () => void;
}

function Restore({ ask, schema, now, image, onDone }: RestoreProps) {
  const asking = useSignal(false);
  const fault = useSignal<Fault | undefined>(undefined);
  const { resource, key, version } = ask;
  const close = () => {
    asking.value = false;
    fault.value = undefined;
  };
  const restore = async () => {
    try {
      await send(ask, door.value, schema);
      tell(`Restored version ${version}`);
      close();
      onDone();
    } catch (error) {
      fault.value = error as Fault;
    }
  };
  return (
    <>
      <button
        type="button"
        aria-label={`Restore version ${version}`}
        onClick={() => {
          asking.value = true;
        }}
      >
        Restore
      </button>
      {asking.value && (
        <Dialog title={`Restore ${resource.name} ${key}?`} onClose={close}>
          <p>
            It will be written as it was at version {version}, for everybody. That is a change of its own.
          </p>
          <div class="history">
            <Differences resource={resource} schema={schema} before={now} after={image} />
          </div>
          {fault.value && <FaultNotice fault={fault.value} />}
          <div class="actions">
            <button type="button" onClick={close}>
              Leave it
            </button>
            <button type="button" class="primary" onClick={restore}>
              Restore it
            </button>
          </div>
        </Dialog>
      )}
    </>
  );
}
