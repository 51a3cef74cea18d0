/** An action: a form made from its arguments, and what it has answered. */

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { Answer, Ask } from '../ask.ts';
import { send } from '../doors/send.ts';
import { Fault, type FieldFault } from '../doors/wire.ts';
import { dataLink } from '../links.ts';
import { type Action, type FormField, nameOf, type Row, type Schema, typeOf } from '../schema/types.ts';
import { door, mayRun } from '../session.ts';
import { tell } from '../told.ts';
import { isObject } from '../where.ts';
import { useDock } from './dock.tsx';
import { useDraft } from './draft.ts';
import { Fields } from './fields.tsx';
import { Form, prefilled } from './form.tsx';
import { Heading } from './heading.tsx';
import { Refused } from './read-only.tsx';
import { useReferred } from './referred.ts';
import { Table } from './table.tsx';
import { shownValue } from './value.tsx';

interface Props {
  schema: Schema;
  action: Action;
  query: URLSearchParams;
}

export function Run({ schema, action, query }: Props) {
  const draft = useDraft(prefilled(action.arguments, query));
  const answer = useSignal<Answer | undefined>(undefined);
  const ask: Ask = { do: 'act', action, values: draft.readable() };
  useDock([{ title: 'Run', ask }]);
  const run = async () => {
    answer.value = undefined;
    const errors = missing(action.arguments, draft.given.value, '#');
    if (errors.length > 0) throw new Fault('VALIDATION_FAILED', 400, 'This is not complete.', { errors });
    answer.value = await send(ask, door.value, schema);
    tell(`${action.name} has run.`);
    return undefined;
  };
  const shown = useRef<HTMLElement>(null);
  // A form of several arguments leaves little of it in sight.
  useEffect(() => {
    if (answer.value) shown.current?.scrollIntoView({ block: 'nearest' });
  }, [answer.value]);
  return (
    <>
      <Heading
        title={
          <>
            {action.name} <span class="type">{typeOf(action.answer)}</span>
          </>
        }
        about={action.description}
        deprecated={action.deprecated}
      />
      {mayRun(action) || draft.isChanged() ? (
        <Form
          schema={schema}
          fields={action.arguments}
          draft={draft}
          before={{}}
          submit="Run"
          onSave={() => draft.save(run)}
        />
      ) : (
        <Refused to={`run ${action.name}`} />
      )}
      <section ref={shown} class="answer" aria-label="The answer" aria-live="polite">
        {answer.value && <Answered action={action} value={answer.value.value} schema={schema} />}
      </section>
    </>
  );
}

/** What must be given and is not, each at its own place: GraphQL would tell of the outermost alone. */
function missing(fields: readonly FormField[], given: Row, at: string): FieldFault[] {
  return fields.flatMap(({ input: { name, required, default: fallback }, column }): FieldFault[] => {
    const pointer = `${at}/${name}`;
    const value = given[name] ?? undefined;
    if (value === undefined && (!required || fallback !== undefined)) return [];
    const inside = [value ?? {}]
      .flat()
      .flatMap((each, index) =>
        isObject(each)
          ? missing(column.fields ?? [], each, column.list ? `${pointer}/${index}` : pointer)
          : [],
      );
    if (value !== undefined || inside.length > 0) return inside;
    return [{ pointer, code: 'REQUIRED', detail: `${name} is required` }];
  });
}

function Answered({ action, value, schema }: { action: Action; value: unknown; schema: Schema }) {
  const target = schema.byName.get(action.answer.type);
  const one = target && isObject(value) ? value : undefined;
  const rows: readonly Row[] = one ? [one] : target && Array.isArray(value) ? value : [];
  const referred = useReferred(target ?? { columns: [] }, rows, schema);
  const key = target && one?.[target.key.name];
  return (
    <>
      <h2>
        The answer{' '}
        {target?.operations.has('GET') && one && (
          <a href={dataLink(target.name, 'record', key)}>
            {target.name} {nameOf(target, one) ?? String(key)}
          </a>
        )}
      </h2>
      {target && one ? (
        <Fields resource={target} row={referred(one)} schema={schema} />
      ) : target && rows.length > 0 ? (
        <Table resource={target} rows={rows.map(referred)} schema={schema} />
      ) : typeof value !== 'object' || value === null ? (
        <p class="card">{shownValue(action.answer, { [action.answer.name]: value }, schema)}</p>
      ) : (
        <pre>{JSON.stringify(value, null, 2)}</pre>
      )}
    </>
  );
}
