/** Platformatic DB as it comes, on PostgreSQL: REST and GraphQL from the tables. */

import { create } from '@platformatic/db';

const server = await create(import.meta.dirname, {
  $schema: 'https://schemas.platformatic.dev/@platformatic/db/3.67.0.json',
  server: { hostname: '127.0.0.1', port: Number(process.env.PORT), logger: { level: 'error' } },
  db: { connectionString: process.env.DATABASE_URL, graphql: true, openapi: true, poolSize: 10 },
});
await server.start({ listen: true });
