/** What has happened to a record, the last first, and the way back. */

import { type Change, type ChangesAsk, type RestoreAsk, SHOWN_CHANGES } from '../ask.ts';
import { send } from '../doors/send.ts';
import { dataLink, to } from '../links.ts';
import { labelled, type Resource, type Row, type Schema } from '../schema/types.ts';
import { door, isRefused } from '../session.ts';
import { tell } from '../told.ts';
import { useAnswer } from './answer.ts';
import { Confirm } from './confirm.tsx';
import { Differences } from './differences.tsx';
import { useDock } from './dock.tsx';
import { Heading } from './heading.tsx';
import { Empty, FaultNotice } from './parts.tsx';
import { useReferred } from './referred.ts';
import { moment } from './value.tsx';

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
  const told = answer?.changes ?? [];
  const images = told.flatMap(({ before, after: next }) => [before, next].filter((row) => !!row));
  const referred = useReferred(resource, images, schema);
  const changes = told.map((change) => ({
    ...change,
    before: referred(change.before),
    after: referred(change.after),
  }));
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
  /** What was there before the journal began, which keeps it in the first change. */
  const [oldest] = after === undefined && changes[0]?.kind === 'UPDATED' ? changes : [];
  useDock([
    { title: 'History', ask, answer },
    ...(first ? [{ title: 'Restore', ask: restoring(first.change) }] : []),
  ]);
  const notice = fault && <FaultNotice fault={fault} again={again} />;
  if (!answer) return notice ?? null;
  const link = dataLink(resource.name, 'record', id);
  const image = last?.after ?? last?.before;
  return (
    <>
      <Heading
        title={`History of ${image ? labelled(resource, image) : `${resource.name} ${id}`}`}
        type={resource.name}
        crumbs={<a href={link}>{id}</a>}
      />
      {notice}
      {next && (
        <a
          class="button"
          href={to(['data', resource.name, 'record', id, 'history'], { after: next.position })}
        >
          Later changes
        </a>
      )}
      {shown.length === 0 && (
        <Empty icon="search" title="There is no history to show">
          <span>It is no longer kept, or you may not read it: that needs the right to HISTORY.</span>
        </Empty>
      )}
      <ol class="history">
        {shown.map(({ change, image }) => (
          <li key={change.position}>
            <header>
              <h2>
                <span class="tag">{change.kind}</span>
                {/* Restored, or made anew under its old key. */}
                {change.kind === 'CREATED' && change.version > 1 && ' again,'} version {change.version}
              </h2>
              <span class="quiet">
                <time dateTime={change.at}>{moment(change.at)}</time>
                {change.caller !== undefined && `, by ${change.caller ?? 'an anonymous caller'}`}
              </span>
              {change === now && now.kind !== 'DELETED' && <span class="tag">current</span>}
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
            <Differences
              columns={resource.columns}
              schema={schema}
              sides={{ before: change.before, after: change.after }}
            />
          </li>
        ))}
        {oldest?.before && (
          <li>
            <header>
              <h2>version {oldest.version - 1}</h2>
              <span class="quiet">as it was before the history begins</span>
              {may && (
                <Restore
                  ask={{ ...restoring(oldest), version: oldest.version - 1 }}
                  schema={schema}
                  now={now?.after}
                  image={oldest.before}
                  onDone={again}
                />
              )}
            </header>
            <Differences
              columns={resource.columns}
              schema={schema}
              sides={{ before: null, after: oldest.before }}
            />
          </li>
        )}
      </ol>
    </>
  );
}

/** What a restore of this change would write: nothing for what the record is already. */
function imageOf(change: Change, now: Change | undefined): Row | null | undefined {
  if (change !== now) return change.after;
  return change.kind === 'DELETED' ? change.before : null;
}

interface RestoreProps {
  ask: RestoreAsk;
  schema: Schema;
  now: Row | null | undefined;
  image: Row;
  onDone: () => void;
}

function Restore({ ask, schema, now, image, onDone }: RestoreProps) {
  const { resource, key, version } = ask;
  // Of what the service sets, the time of the last change is no longer what it was.
  const chosen = new Set([...resource.create, ...resource.update].map(({ name }) => name));
  if (now && [...chosen].every((name) => JSON.stringify(now[name]) === JSON.stringify(image[name])))
    return <span class="tag">same as current but for its time</span>;
  const restore = async () => {
    await send(ask, door.value, schema);
    tell(`Restored version ${version}`);
    onDone();
  };
  return (
    <Confirm
      button="Restore"
      label={`Restore version ${version}`}
      title={`Restore ${resource.name} ${key}?`}
      isWide
      yes="Restore it"
      onYes={restore}
    >
      <p>
        It gets these values back, as they were at version {version}, for everybody. Fields that only the
        service fills in, such as the time of creation, come back too, but for the time of the last change.
        This makes a new version: what is there now stays in the history.
      </p>
      <div class="history">
        <Differences
          columns={resource.columns.filter(({ name }) => chosen.has(name))}
          schema={schema}
          sides={{ now, [`version ${version}`]: image }}
        />
      </div>
    </Confirm>
  );
}
