/** Saves what is filtered as a file. */

import { useSignal } from '@preact/signals';
import { bytes } from '../amounts.ts';
import type { FileType, ListAsk } from '../ask.ts';
import { restFault } from '../doors/rest.ts';
import { remember, request, wireOf } from '../doors/send.ts';
import { Fault } from '../doors/wire.ts';
import type { Schema } from '../schema/types.ts';
import { FaultNotice, Icon } from './parts.tsx';

const types: readonly [FileType, string, string][] = [
  ['text/csv', 'csv', 'CSV'],
  ['application/x-ndjson', 'ndjson', 'NDJSON'],
];

export function Download({ ask, schema }: { ask: ListAsk; schema: Schema }) {
  const got = useSignal<number | undefined>(undefined);
  const fault = useSignal<Fault | undefined>(undefined);
  const stop = useSignal<AbortController | undefined>(undefined);

  const save = async (as: FileType, extension: string) => {
    const whole = { ...ask, limit: undefined, count: false, related: false, as };
    const wire = wireOf(whole, 'rest', schema);
    if (!wire) return;
    const abort = new AbortController();
    stop.value = abort;
    got.value = 0;
    fault.value = undefined;
    try {
      const started = performance.now();
      const response = await request(wire, abort.signal);
      if (!response.ok) throw await restFault(response);
      const chunks: Uint8Array<ArrayBuffer>[] = [];
      for await (const chunk of response.body ?? []) {
        chunks.push(chunk);
        got.value += chunk.byteLength;
      }
      remember(wire, response, started, got.value);
      hand(new Blob(chunks, { type: as }), `${ask.resource.plural}.${extension}`);
    } catch (error) {
      if (!abort.signal.aborted)
        fault.value =
          error instanceof Fault ? error : new Fault('BROKEN', 0, 'The download was interrupted. Try again.');
    } finally {
      got.value = undefined;
    }
  };

  if (got.value !== undefined)
    return (
      <button type="button" onClick={() => stop.value?.abort()}>
        {bytes(got.value)} · Cancel
      </button>
    );
  return (
    <>
      {types.map(([type, extension, label]) => (
        <button
          key={type}
          type="button"
          class="file"
          aria-label={`Download as ${label}`}
          onClick={() => save(type, extension)}
        >
          <Icon name="download" /> {label}
        </button>
      ))}
      {fault.value && <FaultNotice fault={fault.value} />}
    </>
  );
}

function hand(file: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
