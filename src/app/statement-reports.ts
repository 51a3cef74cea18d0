/** What is told of the statements of requests: their texts, those that are slow, and spans. */

import type { Observe } from '../base/observe.ts';
import type { Tracer } from '../base/tracer.ts';
import type { Config } from '../config/config.ts';
import { currentScope } from '../storage/scopes.ts';
import type { Trace } from '../storage/trace.ts';

/** Undefined where nobody wants to know, so that nothing is done for it. */
export function statementTrace(
  { logLevel, logSlow, database }: Pick<Config, 'logLevel' | 'logSlow' | 'database'>,
  observe: Observe,
  tracer: Tracer | undefined,
): Trace | undefined {
  const isTold = logLevel === 'debug';
  const isTimed = logSlow !== null || tracer !== undefined;
  if (!isTold && !isTimed) return undefined;
  const system = database.kind === 'postgres' ? 'postgresql' : 'sqlite';
  return (sql) => {
    if (isTold) observe({ event: 'statement', sql });
    if (!isTimed) return undefined;
    const scope = currentScope();
    const started = performance.now();
    return () => {
      const ended = performance.now();
      const ms = Math.round((ended - started) * 1000) / 1000;
      if (logSlow !== null && ms >= logSlow)
        observe({ event: 'slow', requestId: scope?.requestId, ms, fingerprint: fingerprintOf(sql), sql });
      const span = scope?.span;
      if (!span || !tracer) return;
      const { operation, table } = summaryOf(sql);
      const summary = table === undefined ? operation : `${operation} ${table}`;
      const attributes = {
        'db.system.name': system,
        'db.operation.name': operation,
        'db.collection.name': table,
        'db.query.summary': summary,
        'db.query.text': sql,
      };
      tracer.within(span, { name: summary, kind: 'client', started, ended, attributes });
    };
  };
}

/** The same for all statements that differ in nothing but their values, which no text holds. */
function fingerprintOf(sql: string): string {
  return Bun.hash(sql).toString(16).padStart(16, '0');
}

function summaryOf(sql: string): { operation: string; table: string | undefined } {
  const [operation = ''] = /[A-Z]+/.exec(sql) ?? [];
  const [, table] = /\b(?:FROM|INTO|UPDATE) "([^"]+)"/.exec(sql) ?? [];
  return { operation, table };
}
