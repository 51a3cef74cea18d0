/** Records from a file: dropped here, its columns matched with fields, its errors told by line, and written all at once or not at all. */

import { useSignal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { go } from '../address.ts';
import { bytes, counted } from '../amounts.ts';
import type { ManyAsk } from '../ask.ts';
import { send } from '../doors/send.ts';
import type { Fault } from '../doors/wire.ts';
import { type FileRecords, type LineFault, readFile } from '../file-records.ts';
import { type Checked, checked, faultsByLine } from '../import-faults.ts';
import { dataLink } from '../links.ts';
import {
  type FormField,
  fieldsOf,
  linkedLists,
  type Resource,
  type Schema,
  typeOf,
} from '../schema/types.ts';
import { door, isRefused } from '../session.ts';
import { tell } from '../told.ts';
import { useDock } from './dock.tsx';
import { Heading } from './heading.tsx';
import { FaultNotice, Icon } from './parts.tsx';
import { Refused } from './read-only.tsx';

interface Chosen {
  readonly name: string;
  readonly size: number;
  readonly read: FileRecords;
}

/** More errors than anybody mends at once. */
const SHOWN_FAULTS = 100;

export function Import({ schema, resource }: { schema: Schema; resource: Resource }) {
  const file = useSignal<Chosen | undefined>(undefined);
  /** The field of each column of the file; none: it is left out. */
  const mapping = useSignal<Readonly<Record<string, string>>>({});
  const fault = useSignal<Fault | undefined>(undefined);
  const isSending = useSignal(false);
  const isOver = useSignal(false);
  const input = useRef<HTMLInputElement>(null);
  const errors = useRef<HTMLElement>(null);
  const fields = [...fieldsOf(resource, resource.create), ...linksOf(resource, schema)];
  /** Undefined while others are asked what they have. */
  const known = useSignal<Checked | undefined>(undefined);
  useEffect(() => {
    let isCurrent = true;
    if (file.value)
      void checked(file.value.read, mapping.value, fields, resource, schema).then((all) => {
        if (isCurrent) known.value = all;
      });
    return () => {
      isCurrent = false;
    };
  }, [file.value, mapping.value]);
  const { records = [], faults = [] } = known.value ?? {};
  const left = file.value?.read.names.filter((name) => !mapping.value[name]) ?? [];
  const ask: ManyAsk = { do: 'createMany', resource, records };
  useDock(records.length > 0 ? [{ title: 'Import', ask }] : []);

  /** What was found wrong with something else. */
  const forget = () => {
    known.value = undefined;
    fault.value = undefined;
  };
  const take = async (taken: File | undefined) => {
    if (!taken) return;
    const read = readFile(taken.name, await taken.arrayBuffer());
    const byName = new Map(
      fields.flatMap(({ column: { name, reference } }) =>
        [name, reference?.name ?? name].map((each): [string, string] => [each.toLowerCase(), name]),
      ),
    );
    mapping.value = Object.fromEntries(
      read.names.map((name) => [name, byName.get(name.toLowerCase()) ?? '']),
    );
    file.value = { name: taken.name, size: taken.size, read };
    forget();
  };
  const write = async () => {
    isSending.value = true;
    fault.value = undefined;
    try {
      const { rows = [] } = await send(ask, door.value, schema);
      tell(`Imported ${counted(rows.length, 'record')}`);
      go(dataLink(resource.name));
    } catch (error) {
      fault.value = error as Fault;
      isSending.value = false;
    }
  };

  if (isRefused(resource, 'CREATE')) return <Refused to={`create ${resource.plural}`} resource={resource} />;
  const found = fault.value ? faultsByLine(fault.value, file.value?.read) : [];
  const told = [...faults, ...found].toSorted((one, other) => one.line - other.line);
  return (
    <>
      <Heading title={`Import into ${resource.name}`} type={resource.name} />
      <section
        aria-label="File"
        class={isOver.value ? 'drop over' : 'drop'}
        onDragOver={(event) => {
          event.preventDefault();
          isOver.value = true;
        }}
        onDragLeave={() => {
          isOver.value = false;
        }}
        onDrop={(event) => {
          event.preventDefault();
          isOver.value = false;
          void take(event.dataTransfer?.files[0]);
        }}
      >
        <Icon name="upload" />
        <span role="status">
          {file.value ? (
            <>
              <strong>{file.value.name}</strong> · {bytes(file.value.size)} ·{' '}
              {counted(file.value.read.records.length, 'record')}
              {!known.value && ' · checking…'}
              {left.length > 0 && ` · ${counted(left.length, 'column')} left out: ${left.join(', ')}`}
              {told.length > 0 && (
                <>
                  {' · '}
                  <button type="button" class="plain fault" onClick={() => errors.current?.focus()}>
                    {counted(told.length, 'error')}
                  </button>
                </>
              )}
            </>
          ) : (
            'Drop a file here: CSV or TSV with a line of names, JSON or NDJSON'
          )}
        </span>
        <input
          ref={input}
          class="sr"
          type="file"
          tabIndex={-1}
          aria-label="File to import"
          accept=".csv,.tsv,.json,.ndjson,.jsonl"
          onChange={({ currentTarget }) => {
            void take(currentTarget.files?.[0]);
            // The same file once more, mended, is another one.
            currentTarget.value = '';
          }}
        />
        <button type="button" onClick={() => input.current?.click()}>
          {file.value ? 'Choose another file' : 'Choose a file'}
        </button>
      </section>
      {!file.value && <Expected fields={fields} />}
      {file.value && (
        <>
          {file.value.read.names.length > 0 && (
            <Mapping
              read={file.value.read}
              fields={fields}
              mapping={mapping.value}
              onChange={(next) => {
                mapping.value = next;
                forget();
              }}
            />
          )}
          {fault.value && found.length === 0 && <FaultNotice fault={fault.value} />}
          {told.length > 0 && (
            <Faults at={errors} faults={told} unit={file.value.read.unit} isTried={found.length > 0} />
          )}
          {file.value.read.records.length > 0 && (
            <div class="tools">
              <button
                type="button"
                class="primary"
                disabled={isSending.value || records.length === 0 || faults.length > 0}
                onClick={write}
              >
                Import {counted(file.value.read.records.length, 'record')}
              </button>
              {isSending.value ? (
                <progress aria-label="Importing" />
              ) : (
                <span class="quiet">All records or none.</span>
              )}
            </div>
          )}
        </>
      )}
    </>
  );
}

/** The lists through join types, by the keys of what they are to have. */
function linksOf(resource: Resource, schema: Schema): FormField[] {
  return linkedLists(resource, 'rest').flatMap(({ ids, target, linkedBy }) => {
    const key = schema.byName.get(target)?.key;
    if (!ids || !key || !linkedBy.includes('CREATE')) return [];
    return [{ input: { name: ids, required: false }, column: { ...key, name: ids, list: true } }];
  });
}

/** What a file may have. */
function Expected({ fields }: { fields: readonly FormField[] }) {
  return (
    <section aria-label="Fields">
      <h2>Fields</h2>
      <p class="quiet">Columns of a file that are named otherwise are matched in the next step.</p>
      <ul class="items">
        {fields.map(({ column, column: { name }, input: { required } }) => (
          <li key={name} class="tag">
            {name} <span class="type">{typeOf({ ...column, required: false })}</span>
            {required && ' (required)'}
          </li>
        ))}
      </ul>
    </section>
  );
}

interface MappingProps {
  read: FileRecords;
  fields: readonly FormField[];
  mapping: Readonly<Record<string, string>>;
  onChange: (mapping: Readonly<Record<string, string>>) => void;
}

function Mapping({ read, fields, mapping, onChange }: MappingProps) {
  const [first] = read.records;
  return (
    <div class="scroll mapping">
      <table>
        <thead>
          <tr>
            <th scope="col">column in the file</th>
            <th scope="col">first value</th>
            <th scope="col">field</th>
          </tr>
        </thead>
        <tbody>
          {read.names.map((name) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{shown(first?.values[name])}</td>
              <td>
                <select
                  aria-label={`Field of ${name}`}
                  value={mapping[name] ?? ''}
                  onChange={(event) => onChange({ ...mapping, [name]: event.currentTarget.value })}
                >
                  <option value="">not imported</option>
                  {fields.map(({ column, input }) => (
                    <option key={column.name} value={column.name}>
                      {column.name}
                      {input.required && ' (required)'}
                    </option>
                  ))}
                </select>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

interface FaultsProps {
  unit: string;
  at: RefObject<HTMLElement | null>;
  faults: readonly LineFault[];
  /** By the service, which knows more of what records must be than a page does. */
  isTried: boolean;
}

function Faults({ at, faults, unit, isTried }: FaultsProps) {
  // The table of columns may be longer than the screen.
  useLayoutEffect(() => {
    if (isTried) at.current?.focus();
  }, [isTried]);
  return (
    <section ref={at} tabIndex={-1} class="notice bad" aria-label="Errors">
      <div>
        <strong>
          {isTried ? 'Nothing was imported. ' : 'This cannot be imported as it is. '}
          {counted(faults.length, 'error')}:
        </strong>
        <ul>
          {faults.slice(0, SHOWN_FAULTS).map(({ line, field, why }) => (
            <li key={`${line} ${field} ${why}`}>
              {unit} {line}
              {field && `, ${field}`}: {why.replace(`${field} `, '')}
            </li>
          ))}
        </ul>
        {faults.length > SHOWN_FAULTS && (
          <p>and {(faults.length - SHOWN_FAULTS).toLocaleString('en')} more</p>
        )}
      </div>
    </section>
  );
}
