/** A service that knows its callers, and whom it takes them for. */

import { type AppUnderTest, openApp } from '../app.ts';
import { Issuer } from './issuer.ts';

export const sdl = `
  type Note @resource @allow(to: [READ, CREATE, UPDATE, DELETE]) {
    id: ID!
    title: String!
    owner: String! @set(claim: "sub")
  }`;

/** Who the service takes the sender of these headers for, or what it says against them. */
export async function seen(app: AppUnderTest, headers: Record<string, string>) {
  const answer = await app.rest('POST', '/notes', { title: 'x' }, headers);
  if (answer.status === 201) return answer.body.owner;
  return [answer.status, answer.body.code, answer.headers.get('WWW-Authenticate')];
}

/** The service, and the issuer whose tokens it believes. */
export async function withIssuer(work: (app: AppUnderTest, issuer: Issuer) => Promise<void>, alg?: string) {
  await using issuer = await Issuer.start(alg);
  const app = await openApp('sqlite', { sdl, env: issuer.env });
  try {
    await work(app, issuer);
  } finally {
    await app.close();
  }
}
