/** Forms, generated from the schema, and that of a new record. */

import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect } from 'preact/hooks';
import type { Ask } from '../ask.ts';
import { type Computed, computedOf } from '../computed.ts';
import { send } from '../doors/send.ts';
import type { FieldFault } from '../doors/wire.ts';
import { dataLink } from '../links.ts';
import { scalar } from '../scalar.ts';
import {
  type Column,
  type FormField,
  fieldsOf,
  type Inverse,
  linksName,
  nameOf,
  type Resource,
  type Row,
  type Schema,
} from '../schema/types.ts';
import { door, isRefused } from '../session.ts';
import { hush, tell } from '../told.ts';
import { readJson, unreadable, wrongIn } from '../typed.ts';
import { ComputedField } from './computed-field.tsx';
import { useDock } from './dock.tsx';
import { type Draft, incompleteIn, useDraft } from './draft.ts';
import { Field } from './field.tsx';
import { Heading } from './heading.tsx';
import { LinksField } from './links-field.tsx';
import { FaultNotice } from './parts.tsx';
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
    return <Refused to={`create ${resource.plural}`} resource={resource} />;
  return (
    <>
      <Heading title={`New ${resource.name}`} type={resource.name} />
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
  /** What is there to be read, below what is filled in. */
  children?: ComponentChildren;
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
  children,
  onSave,
}: FormProps) {
  const { form, given, saving } = draft;
  // Whoever has asked for a form begins to fill it in; an action is looked at first.
  useLayoutEffect(() => {
    if (cancel) form.current?.querySelector<HTMLElement>(':is(input, select, textarea, button)')?.focus();
  }, []);
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
    // What can be sent is: the service tells at once all that is wrong, and not only what is known here.
    const isReadable = incomplete.value.length === 0 && !Object.values(given.value).some(unreadable);
    if (isReadable) await onSave();
    // To where something is wrong, if anything is, once that is shown.
    setTimeout(() => {
      const first = form.current?.querySelector<HTMLElement>('[aria-invalid="true"]');
      (first ?? focused)?.focus();
      // With its name: the focus itself leaves what is in sight where it is.
      first?.scrollIntoView({ block: 'nearest' });
    });
  };
  const wrong = (place: Place | Column) => {
    const value = given.value[place.name];
    if (incomplete.value.includes(place.name)) return 'This is not complete.';
    return 'kind' in place ? wrongIn(place, value) : unreadable(value)?.why;
  };
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
      {children}
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
