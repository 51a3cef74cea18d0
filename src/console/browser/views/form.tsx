/** Forms, generated from the schema: a new record, and changes to one that is there. */

import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { Answer, Ask, Change } from '../ask.ts';
import { type Computed, computedOf } from '../computed.ts';
import { send } from '../doors/send.ts';
import { Fault, type FieldFault, isAway } from '../doors/wire.ts';
import { dataLink } from '../links.ts';
import { scalar } from '../scalar.ts';
import { refresh, schema as served } from '../schema/load.ts';
import {
  type FormField,
  fieldsOf,
  type Inverse,
  labelled,
  linksName,
  nameOf,
  type Resource,
  type Row,
  type Schema,
} from '../schema/types.ts';
import { door, isRefused, may } from '../session.ts';
import { hush, tell } from '../told.ts';
import { readJson, unreadable } from '../typed.ts';
import { ComputedField } from './computed-field.tsx';
import { Conflict, changedIn, keptOf } from './conflict.tsx';
import { type Shown, useDock } from './dock.tsx';
import { type Draft, incompleteIn, useDraft } from './draft.ts';
import { Field } from './field.tsx';
import { Heading } from './heading.tsx';
import { LinksField } from './links-field.tsx';
import { Empty, FaultNotice } from './parts.tsx';
import { Refused } from './read-only.tsx';

interface CreateProps {
  schema: Schema;
  resource: Resource;
  query: URLSearchParams;
}

export function Create({ schema, resource, query }: CreateProps) {
  const fields = fieldsOf(resource, resource.create);
  const draft = useDraft(prefilled(fields, query));
  const ask: Ask = { do: 'create', resource, values: draft.readable() };
  useDock([{ title: 'Create', ask }]);
  const create = async () => {
    const { row } = await send(ask, door.value, schema);
    tell(`Created ${resource.name} ${row ? (nameOf(resource, row) ?? row[resource.key.name]) : ''}`);
    return opened(resource, row);
  };
  if (isRefused(resource, 'CREATE') && !draft.isChanged())
    return <Refused resource={resource} write="CREATE" />;
  return (
    <>
      <Heading
        title={`New ${resource.name}`}
        crumbs={<a href={dataLink(resource.name)}>{resource.name}</a>}
      />
      <Form
        schema={schema}
        fields={fields}
        computed={computedOf(resource)}
        lists={resource.inverses.filter(({ linkedBy }) => linkedBy.includes('CREATE'))}
        draft={draft}
        before={{}}
        cancel={dataLink(resource.name)}
        submit="Create"
        onSave={() => draft.save(create)}
      />
    </>
  );
}

/** What the address gives: `?authorId=1`. */
export function prefilled(fields: readonly FormField[], query: URLSearchParams): Row {
  const pairs = fields.flatMap(({ column }): [string, unknown][] => {
    const text = query.get(column.name);
    if (text === null) return [];
    return [[column.name, column.list || column.kind === 'json' ? readJson(text) : scalar(column, text)]];
  });
  return Object.fromEntries(pairs);
}

function opened(resource: Resource, row: Row | undefined): string {
  return row && resource.operations.has('GET')
    ? dataLink(resource.name, 'record', row[resource.key.name])
    : dataLink(resource.name);
}

export function Edit({ schema, resource, id }: { schema: Schema; resource: Resource; id: string }) {
  const read: Ask = { do: 'get', resource, key: id, related: 'links' };
  const plain: Ask = { ...read, related: false };
  const before = useSignal<Answer | undefined>(undefined);
  const related = useSignal<Row>({});
  const theirs = useSignal<Answer | undefined>(undefined);
  /** What the journal has of their change. */
  const told = useSignal<Change | undefined>(undefined);
  const kept = useSignal<ReadonlySet<string>>(new Set());
  const draft = useDraft({});
  const { given, fault } = draft;
  const link = dataLink(resource.name, 'record', id);
  const updating = (changes: Row, version: number | undefined): Ask => ({
    do: 'update',
    resource,
    key: id,
    changes,
    version,
  });
  const entries: Shown[] = [
    {
      title: 'Save',
      ask: theirs.value
        ? updating(keptOf(given.value, kept.value), theirs.value.version)
        : updating(draft.readable(), before.value?.version),
    },
    { title: 'This record', ask: plain, answer: before.value },
  ];
  useDock(before.value ? entries : []);

  const open = () =>
    Promise.all([send(plain, door.value, schema), send(read, door.value, schema)]).then(
      ([found, along]) => {
        before.value = found;
        related.value = along.row ?? {};
        fault.value = undefined;
      },
      (error) => {
        fault.value = error;
      },
    );
  // A service that was away is back when it has told of the schema again.
  useEffect(() => {
    if (!before.value) void open();
  }, [schema]);

  const update = async (changes: Row, version: number | undefined) => {
    if (Object.keys(changes).length === 0) return link;
    const ask = updating(changes, version);
    try {
      await send(ask, door.value, schema);
    } catch (error) {
      if (!(error instanceof Fault) || error.code !== 'VERSION_CONFLICT') throw error;
      // By now it may be gone; then the fault is all there is to tell.
      const now = await send(plain, door.value, schema).catch(() => undefined);
      if (now?.version !== version) {
        theirs.value = now;
        told.value = undefined;
        if (may(resource, 'CHANGES'))
          send({ do: 'changes', resource, key: id, after: undefined }, door.value, schema).then(
            ({ changes }) => {
              told.value = changes?.find((change) => change.version === now?.version);
            },
            () => {},
          );
        kept.value = changedIn(given.value, now?.row ?? {});
        throw error;
      }
      // Nobody has changed it: the tag named a schema file that is no longer served.
      await refresh();
      await send(ask, door.value, served.value ?? schema);
    }
    tell('Saved');
    return link;
  };

  const row = before.value?.row;
  if (isRefused(resource, 'UPDATE') && !draft.isChanged())
    return <Refused resource={resource} write="UPDATE" />;
  if (!row) {
    if (fault.value && isAway(fault.value)) return <FaultNotice fault={fault.value} again={open} />;
    return fault.value ? (
      <Empty icon="search" title={fault.value.message}>
        <a class="button" href={dataLink(resource.name)}>
          All {resource.plural}
        </a>
      </Empty>
    ) : null;
  }
  return (
    <>
      <Heading
        title={labelled(resource, row)}
        crumbs={
          <>
            <a href={dataLink(resource.name)}>{resource.name}</a> <a href={link}>{id}</a>
          </>
        }
      />
      {theirs.value?.row ? (
        <Conflict
          {...{ schema, resource }}
          before={row}
          mine={given.value}
          theirs={theirs.value.row}
          change={told.value}
          kept={kept}
          onDecide={(chosen) => {
            const decided = theirs.value;
            // What comes to a list and what goes is what it was, whatever else has changed of it.
            const lists = resource.inverses.map(linksName).filter((name) => name in given.value);
            const changes = {
              ...chosen,
              ...Object.fromEntries(lists.map((name) => [name, given.value[name]])),
            };
            before.value = decided;
            given.value = changes;
            theirs.value = undefined;
            draft.save(() => update(changes, decided?.version));
          }}
        />
      ) : (
        <Form
          schema={schema}
          fields={fieldsOf(resource, resource.update)}
          computed={computedOf(resource)}
          lists={resource.inverses.filter(
            ({ name, linkedBy }) => linkedBy.includes('UPDATE') && Array.isArray(related.value[name]),
          )}
          draft={draft}
          before={{ ...related.value, ...row }}
          cancel={link}
          submit="Save"
          onSave={() => draft.save(() => update(given.value, before.value?.version))}
        />
      )}
    </>
  );
}

interface FormProps {
  schema: Schema;
  fields: readonly FormField[];
  computed?: readonly Computed[];
  /** Those whose records can be chosen. */
  lists?: readonly Inverse[];
  draft: Draft;
  before: Row;
  cancel?: string;
  submit: string;
  onSave: () => Promise<void>;
}

export function Form({
  schema,
  fields,
  computed = [],
  lists = [],
  draft,
  before,
  cancel,
  submit,
  onSave,
}: FormProps) {
  const { form, given, saving } = draft;
  const fault = draft.fault.value;
  /** Whether somebody wanted to save it as it is. */
  const tried = useSignal(false);
  /** Fields of which only a part is there, such as a day without its year: browsers keep that to themselves. */
  const incomplete = useSignal<readonly string[]>([]);
  const linked = lists.flatMap((list) => {
    const target = schema.byName.get(list.target);
    return target?.operations.has('LIST') ? [{ list, target, name: linksName(list) }] : [];
  });
  const places = [...fields.map(({ column }) => column), ...linked];
  const elsewhere = fault?.errors.filter((error) => !places.some((place) => isAt(error, place))) ?? [];
  const put = ({ name }: Place, value: unknown) => {
    const { [name]: _, ...others } = given.value;
    const same = value === undefined || JSON.stringify(value) === JSON.stringify(before[name]);
    given.value = same ? others : { ...others, [name]: value };
    incomplete.value = incomplete.value.filter((each) => each !== name);
  };
  const save = async (event: Event) => {
    event.preventDefault();
    const focused = document.activeElement as HTMLElement | null;
    hush();
    tried.value = true;
    incomplete.value = incompleteIn(form.current);
    const isReadable = incomplete.value.length === 0 && !Object.values(given.value).some(unreadable);
    if (isReadable) await onSave();
    // To where something is wrong, if anything is, once that is shown.
    setTimeout(() => (form.current?.querySelector<HTMLElement>('[aria-invalid="true"]') ?? focused)?.focus());
  };
  const wrong = ({ name }: Place) =>
    incomplete.value.includes(name) ? 'This is not complete.' : unreadable(given.value[name])?.why;
  return (
    <form ref={form} class="record" noValidate inert={saving.value} onSubmit={save}>
      {fields.map(({ input, column }) => (
        <Field
          key={column.name}
          schema={schema}
          input={input}
          column={column}
          value={column.name in given.value ? given.value[column.name] : before[column.name]}
          before={before}
          wrong={wrong(column)}
          tried={tried.value}
          faults={fault?.errors.filter((error) => isAt(error, column)) ?? []}
          onChange={(value) => put(column, value)}
        />
      ))}
      {computed.map((each) => (
        <ComputedField
          key={each.column.name}
          schema={schema}
          computed={each}
          before={before}
          given={given.value}
        />
      ))}
      {linked.map(({ list, target, name }) => (
        <LinksField
          key={name}
          schema={schema}
          list={list}
          target={target}
          value={given.value[name]}
          before={before[list.name]}
          wrong={tried.value ? wrong({ name }) : undefined}
          faults={fault?.errors.filter((error) => isAt(error, { name })) ?? []}
          onChange={(value) => put({ name }, value)}
        />
      ))}
      <div class="tools">
        {fault && (fault.errors.length === 0 || elsewhere.length > 0) && (
          <FaultNotice fault={fault} errors={elsewhere} />
        )}
        <button type="submit" class="primary" disabled={saving.value}>
          {submit}
        </button>
        {cancel && (
          <a class="button" href={cancel}>
            Cancel
          </a>
        )}
      </div>
    </form>
  );
}

interface Place {
  readonly name: string;
}

function isAt({ pointer, parameter }: FieldFault, { name }: Place): boolean {
  return parameter === name || pointer === `#/${name}` || (pointer?.startsWith(`#/${name}/`) ?? false);
}
