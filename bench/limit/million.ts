/** By hand over a million records: a handler that runs the one statement of each question. */

import { Database } from 'bun:sqlite';
import { json } from './answers.ts';

const db = new Database(process.env['DATABASE_FILE'] ?? '', { strict: true });
const statements = JSON.parse(process.env['STATEMENTS'] ?? '{}') as Record<string, string>;
const queries = new Map(Object.entries(statements).map(([name, sql]) => [name, db.query(sql)]));

Bun.serve({
  hostname: '127.0.0.1',
  port: Number(process.env['PORT']),
  routes: {
    '/:question': (request) => {
      const query = queries.get(request.params.question);
      return query ? json(query.all()) : new Response(null, { status: 404 });
    },
  },
});
