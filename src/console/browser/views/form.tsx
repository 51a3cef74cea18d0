/** Forms, generated from the schema: a new record, and changes to one that is there. */

import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { go } from '../address.ts';
import type { Answer, Ask } from '../ask.ts';
import { send } from '../doors/send.ts';
import { Fault, type FieldFault } from '../doors/wire.ts';
import { dataLink } from '../links.ts';
import {
  type Column,
  type Input,
  labelled,
  type Resource,
  type Row,
  type Schema,
  shownType,
} from '../schema/types.ts';
import { door } from '../session.ts';
import { Conflict } from './conflict.tsx';
import { type Shown, useDock } from './dock.tsx';
import { FieldInput } from './field-input.tsx';
import { scalar } from './list-place.ts';
import { Empty, FaultNotice, Prose } from './parts.tsx';

/** What the person has given; what is not in here was left alone. */
type Given = Row;

export function Create({
  schema,
  resource,
  query,
}: {
  schema: Schema;
  resource: Resource;
  query: URLSearchParams;
}) {
  const given = useSignal<Given>(prefilled(resource, query));
  const fault = useSignal<Fault | undefined>(undefined);
  const ask: Ask = { do: 'create', resource, values: given.value };
  useDock([{ title: 'Create', ask }]);
  const save = async () => {
    try {
      const { row } = await send(ask, door.value, schema);
      go(opened(resource, row));
    } catch (error) {
      fault.value = error as Fault;
    }
  };
  return (
    <>
      <div class="heading">
        <div>
          <p class="crumbs">
            <a href={dataLink(resource.name)}>{resource.name}</a>
          </p>
          <h1>New {resource.name}</h1>
        </div>
      </div>
      <Form
        schema={schema}
        resource={resource}
        inputs={resource.create}
        given={given.value}
        before={{}}
        fault={fault.value}
        cancel={dataLink(resource.name)}
        submit="Create"
        onChange={(next) => {
          given.value = next;
        }}
        onSave={save}
      />
    </>
  );
}

/** What the address gives: `?authorId=1`. */
function prefilled(resource: Resource, query: URLSearchParams): Given {
  const pairs = resource.create.flatMap(({ name }): [string, unknown][] => {
    const text = query.get(name);
    const column = resource.columns.find((each) => each.name === name);
    return text === null || !column ? [] : [[name, scalar(column, text)]];
  });
  return Object.fromEntries(pairs);
}

function opened(resource: Resource, row: Row | undefined): string {
  return row && resource.operations.has('GET')
    ? dataLink(resource.name, 'record', row[resource.key.name])
    : dataLink(resource.name);
}

export function Edit({ schema, resource, id }: { schema: Schema; resource: Resource; id: string }) {
  const read: Ask = { do: 'get', resource, key: id, related: true };
  const plain: Ask = { ...read, related: false };
  const before = useSignal<Answer | undefined>(undefined);
  const related = useSignal<Row>({});
  const given = useSignal<Given>({});
  const fault = useSignal<Fault | undefined>(undefined);
  const theirs = useSignal<Answer | undefined>(undefined);
  const version = before.value?.version;
  const ask: Ask = { do: 'update', resource, key: id, changes: given.value, version };
  const entries: Shown[] = [
    { title: 'Save', ask },
    { title: 'This record', ask: plain, answer: before.value },
  ];
  useDock(before.value ? entries : []);

  useEffect(() => {
    Promise.all([send(plain, door.value, schema), send(read, door.value, schema)]).then(
      ([found, along]) => {
        before.value = found;
        related.value = along.row ?? {};
      },
      (error) => {
        fault.value = error;
      },
    );
  }, []);

  const save = async (changes: Given = given.value, at: number | undefined = version) => {
    if (Object.keys(changes).length === 0) return go(dataLink(resource.name, 'record', id));
    try {
      await send({ ...ask, changes, version: at } as Ask, door.value, schema);
      go(dataLink(resource.name, 'record', id));
    } catch (error) {
      fault.value = error as Fault;
      theirs.value =
        error instanceof Fault && error.code === 'VERSION_CONFLICT'
          ? // By now it may be gone; then the fault is all there is to tell.
            await send(plain, door.value, schema).catch(() => undefined)
          : undefined;
    }
  };

  const row = before.value?.row;
  if (!row)
    return fault.value ? (
      <Empty icon="search" title={fault.value.message}>
        <a class="button" href={dataLink(resource.name)}>
          All {resource.plural}
        </a>
      </Empty>
    ) : null;
  return (
    <>
      <div class="heading">
        <div>
          <p class="crumbs">
            <a href={dataLink(resource.name)}>{resource.name}</a>{' '}
            <a href={dataLink(resource.name, 'record', id)}>{id}</a>
          </p>
          <h1 dir="auto">{labelled(resource, row)}</h1>
        </div>
      </div>
      {theirs.value?.row ? (
        <Conflict
          resource={resource}
          before={row}
          mine={given.value}
          theirs={theirs.value.row}
          onDecide={(changes) => {
            const decided = theirs.value;
            before.value = decided;
            given.value = changes;
            theirs.value = undefined;
            fault.value = undefined;
            save(changes, decided?.version);
          }}
        />
      ) : (
        <Form
          schema={schema}
          resource={resource}
          inputs={resource.update}
          given={given.value}
          before={{ ...related.value, ...row }}
          fault={fault.value}
          cancel={dataLink(resource.name, 'record', id)}
          submit="Save"
          onChange={(next) => {
            given.value = next;
          }}
          onSave={() => save()}
        />
      )}
    </>
  );
}

interface FormProps {
  schema: Schema;
  resource: Resource;
  inputs: readonly Input[];
  given: Given;
  before: Row;
  fault: Fault | undefined;
  cancel: string;
  submit: string;
  onChange: (given: Given) => void;
  onSave: () => void;
}

function Form({
  schema,
  resource,
  inputs,
  given,
  before,
  fault,
  cancel,
  submit,
  onChange,
  onSave,
}: FormProps) {
  const saving = useSignal(false);
  const fields = inputs.flatMap((input) => {
    const column = resource.columns.find(({ name }) => name === input.name);
    return column ? [{ input, column }] : [];
  });
  const elsewhere = fault?.errors.filter((error) => !fields.some(({ column }) => isAt(error, column))) ?? [];
  const put = ({ name }: Column, value: unknown) => {
    const { [name]: _, ...others } = given;
    const same = value === undefined || JSON.stringify(value) === JSON.stringify(before[name]);
    onChange(same ? others : { ...others, [name]: value });
  };
  const save = async (event: Event) => {
    event.preventDefault();
    saving.value = true;
    await onSave();
    saving.value = false;
    // To where something is wrong, if anything is.
    document.querySelector<HTMLElement>('form.record [aria-invalid="true"]')?.focus();
  };
  return (
    <form class="record" noValidate onSubmit={save}>
      {fault && (fault.errors.length === 0 || elsewhere.length > 0) && <FaultNotice fault={fault} />}
      {elsewhere.map(({ detail }) => (
        <p key={detail} class="fault">
          {detail}
        </p>
      ))}
      {fields.map(({ input, column }) => (
        <Field
          key={column.name}
          schema={schema}
          input={input}
          column={column}
          value={column.name in given ? given[column.name] : before[column.name]}
          before={before}
          faults={fault?.errors.filter((error) => isAt(error, column)) ?? []}
          onChange={(value) => put(column, value)}
        />
      ))}
      <div class="tools">
        <button type="submit" class="primary" disabled={saving.value}>
          {submit}
        </button>
        <a class="button" href={cancel}>
          Cancel
        </a>
      </div>
    </form>
  );
}

function isAt({ pointer }: FieldFault, { name }: Column): boolean {
  return pointer === `#/${name}` || (pointer?.startsWith(`#/${name}/`) ?? false);
}

interface FieldProps {
  schema: Schema;
  input: Input;
  column: Column;
  value: unknown;
  before: Row;
  faults: readonly FieldFault[];
  onChange: (value: unknown) => void;
}

function Field({ schema, input, column, value, before, faults, onChange }: FieldProps) {
  const id = `field-${column.name}`;
  const label = column.reference?.name ?? column.name;
  return (
    <div class="field">
      <div class="label">
        <label for={id}>
          <span class={column.deprecated ? 'deprecated' : ''}>{label}</span>
          {input.required && <span class="required"> required</span>}
        </label>
        <span class="type">{shownType(column)}</span>
      </div>
      <FieldInput
        id={id}
        column={column}
        value={value}
        schema={schema}
        before={before}
        fallback={input.default}
        invalid={faults.length > 0}
        onChange={onChange}
      />
      {column.description && (
        <p class="quiet small" id={`${id}-about`}>
          <Prose text={column.description} />
        </p>
      )}
      {faults.map(({ detail }) => (
        <p key={detail} class="fault" id={`${id}-fault`} role="alert">
          {detail}
        </p>
      ))}
    </div>
  );
}
