/** By hand over a million records: a handler that runs the one statement of each question. */

import { Database } from 'bun:sqlite';
import { json } from './answers.ts';

const { DATABASE_URL: url, DATABASE_FILE: file = '', STATEMENTS = '{}' } = process.env;
const statements = Object.entries(JSON.parse(STATEMENTS) as Record<string, string>);

function onSqlite() {
  const db = new Database(file, { strict: true });
  return (text: string) => {
    const query = db.query(text);
    return () => query.all();
  };
}

function onPostgres(server: string) {
  const sql = new Bun.SQL(server, { max: 1 });
  return (text: string) => () => sql.unsafe(text, []);
}

const prepared = url === undefined ? onSqlite() : onPostgres(url);
const queries = new Map(statements.map(([name, text]) => [name, prepared(text)]));

Bun.serve({
  hostname: '127.0.0.1',
  port: Number(process.env['PORT']),
  // An answer that takes longer than that would be cut off.
  idleTimeout: 255,
  routes: {
    '/:question': async (request) => {
      const query = queries.get(request.params.question);
      return query ? json(await query()) : new Response(null, { status: 404 });
    },
  },
});
