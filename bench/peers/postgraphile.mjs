/** PostGraphile 5 as it comes, on PostgreSQL, without its development helps. */

import { createServer } from 'node:http';
import { postgraphile } from 'postgraphile';
import { makePgService } from 'postgraphile/adaptors/pg';
import { grafserv } from 'postgraphile/grafserv/node';
import { PostGraphileAmberPreset } from 'postgraphile/presets/amber';

const serv = postgraphile({
  extends: [PostGraphileAmberPreset],
  pgServices: [
    makePgService({
      connectionString: process.env.DATABASE_URL,
      schemas: ['public'],
      poolConfig: { max: 10 },
    }),
  ],
  schema: { defaultBehavior: '+list' },
  grafserv: { watch: false, graphiql: false },
  grafast: { explain: false },
}).createServ(grafserv);

const server = createServer();
await serv.addTo(server);
server.listen(Number(process.env.PORT), '127.0.0.1');
