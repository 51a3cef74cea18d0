/** Records from a file: dropped here, its columns matched with fields, its errors told by line, and written all at once or not at all. */

import { useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import type { ManyAsk } from '../ask.ts';
import { send } from '../doors/send.ts';
import type { Fault } from '../doors/wire.ts';
import { type FileRecords, type LineFault, readFile } from '../file-records.ts';
import { faultsByLine, readRecords, takenIn } from '../import-faults.ts';
import { dataLink } from '../links.ts';
import {
  type FormField,
  fieldsOf,
  linkedLists,
  type Resource,
  type Schema,
  typeOf,
} from '../schema/types.ts';
import { isRefused } from '../session.ts';
import { tell } from '../told.ts';
import { useDock } from './dock.tsx';
import { Heading } from './heading.tsx';
import { bytes, counted, Empty, FaultNotice, Icon } from './parts.tsx';
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
  const found = useSignal<readonly LineFault[]>([]);
  const fault = useSignal<Fault | undefined>(undefined);
  const state = useSignal<'ready' | 'sending' | 'done'>('ready');
  const isOver = useSignal(false);
  const input = useRef<HTMLInputElement>(null);
  const fields = [...fieldsOf(resource, resource.create), ...linksOf(resource, schema)];
  const { records, faults } = file.value
    ? readRecords(file.value.read, mapping.value, fields, resource)
    : { records: [], faults: [] };
  /** What other records have already. */
  const taken = useSignal<readonly LineFault[]>([]);
  useEffect(() => {
    let isCurrent = true;
    taken.value = [];
    if (file.value)
      takenIn(file.value.read, records, resource, schema).then(
        (all) => {
          if (isCurrent) taken.value = all;
        },
        // Then the service tells it after Import.
        () => {},
      );
    return () => {
      isCurrent = false;
    };
  }, [file.value, mapping.value]);
  const left = file.value?.read.names.filter((name) => !mapping.value[name]) ?? [];
  const ask: ManyAsk = { do: 'createMany', resource, records };
  useDock(records.length > 0 ? [{ title: 'Import', ask }] : []);

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
    found.value = [];
    fault.value = undefined;
    state.value = 'ready';
  };
  const write = async () => {
    state.value = 'sending';
    fault.value = undefined;
    found.value = [];
    try {
      const { rows = [] } = await send(ask, 'rest', schema);
      tell(`Imported ${counted(rows.length, 'record')}`);
      state.value = 'done';
    } catch (error) {
      fault.value = error as Fault;
      found.value = faultsByLine(fault.value, file.value?.read);
      state.value = 'ready';
    }
  };

  if (isRefused(resource, 'CREATE')) return <Refused resource={resource} write="CREATE" />;
  const known = [...faults, ...taken.value];
  const told = [...known, ...found.value].toSorted((one, other) => one.line - other.line);
  return (
    <>
      <Heading
        title={`Import into ${resource.name}`}
        crumbs={<a href={dataLink(resource.name)}>{resource.name}</a>}
      />
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
        {file.value ? (
          <span>
            <strong>{file.value.name}</strong> · {bytes(file.value.size)} ·{' '}
            {counted(file.value.read.records.length, 'record')}
          </span>
        ) : (
          <span>
            Drop a file here: CSV or TSV with a line of names, JSON, or one JSON object per line (NDJSON)
          </span>
        )}
        <input
          ref={input}
          class="sr"
          type="file"
          tabIndex={-1}
          aria-label="File to import"
          accept=".csv,.tsv,.json,.ndjson,.jsonl"
          onChange={(event) => void take(event.currentTarget.files?.[0])}
        />
        <button type="button" onClick={() => input.current?.click()}>
          {file.value ? 'Choose another file' : 'Choose a file'}
        </button>
      </section>
      {!file.value && <Expected fields={fields} />}
      {file.value && state.value !== 'done' && (
        <>
          <Mapping
            read={file.value.read}
            fields={fields}
            mapping={mapping.value}
            onChange={(next) => {
              mapping.value = next;
              found.value = [];
              fault.value = undefined;
            }}
          />
          {left.length > 0 && (
            <p class="notice warn" role="status">
              {counted(left.length, 'column')} of the file {left.length === 1 ? 'is' : 'are'} left out:{' '}
              {left.join(', ')}
            </p>
          )}
          {fault.value && found.value.length === 0 && <FaultNotice fault={fault.value} />}
          {told.length > 0 && <Faults faults={told} isTried={found.value.length > 0} />}
          <div class="tools">
            <button
              type="button"
              class="primary"
              disabled={state.value === 'sending' || records.length === 0 || known.length > 0}
              onClick={write}
            >
              Import {counted(records.length, 'record')}
            </button>
            {state.value === 'sending' ? (
              <progress aria-label="Importing" />
            ) : (
              <span class="quiet">
                All records or none. What only the service can find wrong is told after Import, by line.
              </span>
            )}
          </div>
        </>
      )}
      {state.value === 'done' && (
        <Empty icon="table" title={`Imported ${counted(records.length, 'record')}`}>
          <a class="button primary" href={dataLink(resource.name)}>
            All {resource.plural}
          </a>
        </Empty>
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

/** `isTried`: by the service, which knows more of what records must be than a page does. */
function Faults({ faults, isTried }: { faults: readonly LineFault[]; isTried: boolean }) {
  const section = useRef<HTMLElement>(null);
  // The table of columns may be longer than the screen.
  useLayoutEffect(() => {
    if (isTried) section.current?.scrollIntoView({ block: 'nearest' });
  }, [isTried]);
  return (
    <section ref={section} class="notice bad" aria-label="Errors">
      <div>
        <strong>
          {isTried ? 'Nothing was imported. ' : 'This cannot be imported as it is. '}
          {counted(faults.length, 'error')}:
        </strong>
        <ul>
          {faults.slice(0, SHOWN_FAULTS).map(({ line, field, why }) => (
            <li key={`${line} ${field} ${why}`}>
              line {line}
              {field && `, ${field}`}:{' '}
              {field && why.startsWith(`${field} `) ? why.slice(field.length + 1) : why}
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
