/** A list as a file: CSV or NDJSON, written page by page while the client takes it, from one snapshot. */

import { validationFailed } from '../base/errors.ts';
import { jsonOf } from '../base/passed.ts';
import type { Selection } from '../engine/operation.ts';
import type { Node } from '../engine/read/read.ts';
import { preferredType } from '../http/accept.ts';
import { answer, JSON_TYPE } from '../http/answer.ts';
import { EVENT_TYPE } from '../http/streams.ts';
import type { Column } from '../schema/model.ts';
import type { ListRequest } from './query.ts';
import { shown } from './respond.ts';

export const CSV_TYPE = 'text/csv';
export const NDJSON_TYPE = 'application/x-ndjson';

/** Bytes that are handed over at once: the runtime copies them, and keeps the copy for as long as the client takes nothing. */
const SENT_TOGETHER = 256 * 1024;

/**
 * Bytes a second. For as long as an export is read from its snapshot, the log of SQLite grows by whatever others write, PostgreSQL
 * cannot vacuum, and one place less is left for the exports of others.
 */
const LEAST_PACE = 32 * 1024;
/** How much longer a client may take. */
const GRACE_MS = 60_000;

export type ExportType = typeof CSV_TYPE | typeof NDJSON_TYPE;

/** Undefined for the ordinary JSON list, which is also for those who accept none of the four. */
export function listType(accept: string | null): ExportType | typeof EVENT_TYPE | undefined {
  const type = preferredType(accept, [JSON_TYPE, NDJSON_TYPE, CSV_TYPE, EVENT_TYPE]);
  return type === JSON_TYPE ? undefined : type;
}

/** What makes sense of a list on a page makes none of a file. */
export function refuseInExports({ count, aggregate, selection }: ListRequest, type: ExportType): void {
  const refuse = (parameter: string, detail: string) =>
    validationFailed([{ parameter, code: 'UNKNOWN', detail: `${parameter} ${detail}` }]);
  if (aggregate) throw refuse('aggregate', 'does not go with exports');
  if (count) throw refuse('count', 'does not go with exports');
  if (type === CSV_TYPE && selection.relations.length > 0)
    throw refuse(
      'include',
      'does not go with CSV, which has no place for nested records; ask for application/x-ndjson',
    );
}

/** Waits for the first page, so that what fails at once is still told by the status. */
export async function exported(
  pages: AsyncGenerator<Node[]>,
  selection: Selection,
  type: ExportType,
  headers: Readonly<Record<string, string>>,
  failed: (cause: unknown) => void,
): Promise<Response> {
  const columns = [...selection.columns, ...(selection.computed?.map(({ column }) => column) ?? [])];
  const line = type === CSV_TYPE ? csvLine(columns) : (node: Node) => `${jsonOf(shown(selection, node))}\n`;
  let head = type === CSV_TYPE ? `${columns.map(({ name }) => csvText(name)).join(',')}\r\n` : '';
  let next: IteratorResult<Node[]> | undefined = await pages.next();
  /** What is yet to be sent of a page. */
  let rest: Uint8Array = new Uint8Array();
  const patience = new Patience();
  let isLeft = false;
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        patience.isTaken();
        try {
          if (rest.byteLength === 0) {
            next ??= await pages.next();
            // Whoever asked for it has gone meanwhile, and nothing can be sent any more.
            if (isLeft) return;
            const { done } = next;
            rest = new TextEncoder().encode(head + (next.done ? '' : next.value.map(line).join('')));
            head = '';
            next = undefined;
            if (done) {
              if (rest.byteLength > 0) controller.enqueue(rest);
              controller.close();
              return;
            }
          }
          const part = rest.subarray(0, SENT_TOGETHER);
          rest = rest.subarray(SENT_TOGETHER);
          patience.wait(part.byteLength, (error) => {
            failed(error);
            controller.error(error);
            pages.return(undefined).catch(failed);
          });
          controller.enqueue(part);
        } catch (error) {
          // The connection breaks off: a file that ends early must not look whole.
          failed(error);
          controller.error(error);
        }
      },
      async cancel() {
        isLeft = true;
        patience.isTaken();
        await pages.return(undefined);
      },
    },
    // Nothing is read ahead of whoever takes it.
    { highWaterMark: 0 },
  );
  return answer(200, body, { ...headers, 'Content-Type': contentType(type) });
}

/** How long it is waited for a client, in all, beside what the database takes. */
class Patience {
  #leftMs = GRACE_MS;
  #since = 0;
  #timer: Timer | undefined;

  wait(bytes: number, over: (error: Error) => void): void {
    this.#leftMs += (bytes / LEAST_PACE) * 1000;
    this.#since = performance.now();
    const why = `the client takes less than ${LEAST_PACE} bytes a second`;
    this.#timer = setTimeout(() => over(new Error(why)), this.#leftMs);
  }

  isTaken(): void {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#leftMs -= performance.now() - this.#since;
  }
}

export function contentType(type: ExportType): string {
  return type === CSV_TYPE ? `${type}; charset=utf-8` : type;
}

function csvLine(columns: readonly Column[]): (node: Node) => string {
  return (node) => `${columns.map(({ name }) => csvValue(node[name])).join(',')}\r\n`;
}

/** RFC 4180. Null is nothing at all; an empty text is a pair of quotes. */
function csvValue(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'string') return csvText(value);
  return typeof value === 'object' ? csvText(jsonOf(value)) : String(value);
}

function csvText(text: string): string {
  return text === '' || /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
