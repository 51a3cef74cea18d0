/** Attacks on who somebody is: credentials that are forged, stale, doubled, or in the wrong place. */

import { SignJWT } from 'jose';
import { sound } from '../http/issuer.ts';
import { type Attack, get, type Outcome, request } from './attack.ts';

export const SECRET = 'a secret of at least thirty-two bytes';

const sign = (claims: Record<string, unknown>, secret = SECRET, alg = 'HS256') =>
  new SignJWT(sound({ roles: ['reader'], ...claims }))
    .setProtectedHeader({ alg })
    .sign(new TextEncoder().encode(secret));

const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

export async function callerAttacks(): Promise<Attack[]> {
  const good = await sign({});
  const [head = '', payload = '', signature = ''] = good.split('.');
  const unsigned = `${part({ alg: 'none' })}.${payload}`;
  const refused: Outcome = { status: 401, code: 'UNAUTHENTICATED' };
  const bad: Record<string, string> = {
    'no algorithm': `Bearer ${unsigned}.`,
    'no algorithm, in other letters': `Bearer ${part({ alg: 'nOnE' })}.${payload}.`,
    'no algorithm, with a signature': `Bearer ${unsigned}.${signature}`,
    'a public algorithm over the same secret': `Bearer ${part({ alg: 'RS256' })}.${payload}.${signature}`,
    'another hash': `Bearer ${await sign({}, SECRET.repeat(2), 'HS512')}`,
    'another secret': `Bearer ${await sign({}, `${SECRET}!`)}`,
    'other claims under the same signature': `Bearer ${head}.${part(sound({ roles: ['reader', 'root'] }))}.${signature}`,
    'no signature': `Bearer ${head}.${payload}.`,
    'a token that has expired': `Bearer ${await sign({ exp: 1 })}`,
    'a token that never expires': `Bearer ${await sign({ exp: undefined })}`,
    'a token of 9 KB': `Bearer ${'a'.repeat(9000)}`,
    'Bearer and nothing': 'Bearer',
    'Bearer and a space': 'Bearer ',
    Basic: `Basic ${Buffer.from('admin:admin').toString('base64')}`,
    'a token alone': good,
    'two tokens': `Bearer ${good}, Bearer ${good}`,
    'an API key of SQL': `Bearer duet_'OR'1'='1`,
    'an API key that nobody has': `Bearer duet_${'a'.repeat(43)}`,
  };
  const header = (value: string) => `Authorization: ${value}\r\n`;
  const doubled = header(`Bearer ${good}`) + header(`Bearer ${unsigned}.`);
  return [
    ...Object.entries(bad).map(
      ([name, value]): Attack => ({ name, sent: get('/notes', header(value)), outcome: refused }),
    ),
    ...Object.entries(bad).map(
      ([name, value]): Attack => ({
        name: `GraphQL: ${name}`,
        sent: request(
          'POST /graphql',
          `${header(value)}Content-Type: application/json\r\n`,
          '{"query":"{ notes { id } }"}',
        ),
        outcome: refused,
      }),
    ),
    { name: 'two Authorization headers', sent: get('/notes', doubled), outcome: refused },
    { name: 'a token in the query', sent: get(`/notes?access_token=${good}`), outcome: refused },
    { name: 'a token in a cookie', sent: get('/notes', `Cookie: token=${good}\r\n`), outcome: refused },
    {
      name: 'a role in a header',
      sent: get('/notes', 'X-Role: reader\r\nX-User: root\r\n'),
      outcome: refused,
    },
    { name: 'who is not known learns of no method', sent: request('PATCH /notes'), outcome: { status: 405 } },
    {
      name: 'a reader who writes',
      sent: request('DELETE /notes/1', header(`Bearer ${good}`)),
      outcome: { status: 403, code: 'FORBIDDEN' },
    },
    {
      name: 'the metrics without their role',
      sent: get('/metrics', header(`Bearer ${good}`)),
      outcome: { status: 403, code: 'FORBIDDEN' },
    },
    {
      name: 'the good token',
      sent: get('/notes', header(`Bearer ${good}`)),
      outcome: { status: 200, body: [{ id: 1, title: 'x' }] },
    },
  ];
}
