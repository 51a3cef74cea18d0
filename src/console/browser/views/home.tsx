/** The first screen: what is served here, and where to begin. */

import { actionLink, dataLink, to } from '../links.ts';
import type { Action, Resource, Schema } from '../schema/types.ts';
import { isRefused, mayRun, token } from '../session.ts';
import { CountOf } from './count.tsx';
import { useSchemaDock } from './dock.tsx';
import { Empty, Icon, Name, Prose, SignIn } from './parts.tsx';

export function Home({ schema }: { schema: Schema }) {
  useSchemaDock(schema);
  if (schema.resources.length === 0)
    return (
      <Empty icon="table" title="Nothing is served yet">
        <p>
          Add a type with <code>@resource</code> to the schema file.
        </p>
      </Empty>
    );
  return (
    <>
      <div>
        <h1>Resources</h1>
        <p class="quiet lead">
          Every resource as REST and as GraphQL, with the same rules. The panel “REST and GraphQL” has the
          request of each page.
        </p>
      </div>
      {token.value === '' && schema.resources.some((resource) => isRefused(resource, 'LIST')) && (
        <div class="notice">
          <span>What has a lock is not open to everybody.</span>
          <SignIn />
        </div>
      )}
      <ul class="cards">
        {schema.resources.map((resource) => (
          <li key={resource.name}>
            <Card resource={resource} schema={schema} />
          </li>
        ))}
      </ul>
      {schema.actions.length > 0 && (
        <>
          <h2>Actions</h2>
          <ul class="cards">
            {schema.actions.map((action) => (
              <li key={action.name}>
                <ActionCard action={action} />
              </li>
            ))}
          </ul>
        </>
      )}
      <p class="quiet">
        See how the types relate in the <a href={to(['schema'])}>diagram</a>, write a query in{' '}
        <a href={to(['graphiql'])}>GraphiQL</a>, or read the <a href={to(['reference'])}>API reference</a>.
        For programs: <a href="/openapi.json">/openapi.json</a> and{' '}
        <a href="/schema.graphql">/schema.graphql</a>.
      </p>
    </>
  );
}

function Locked({ to: what }: { to: string }) {
  return (
    <span class="tag">
      <Icon name="lock" /> {token.value === '' ? `sign in to ${what}` : 'not for your roles'}
    </span>
  );
}

function ActionCard({ action }: { action: Action }) {
  const { name, description, path, graphql } = action;
  return (
    <article class="card">
      <div class="title">
        <h2>
          <a href={actionLink(name)}>
            <Name text={name} />
          </a>
        </h2>
        {!mayRun(action) && <Locked to="run" />}
      </div>
      <p class="quiet">{description && <Prose text={description} />}</p>
      <p class="doorways">
        <span class="tag rest mono">{path}</span>
        {graphql && <span class="tag graphql mono">{name}</span>}
      </p>
    </article>
  );
}

function Card({ resource, schema }: { resource: Resource; schema: Schema }) {
  const { name, description, rest, graphql, columns } = resource;
  const root = graphql?.roots.LIST ?? graphql?.roots.GET ?? graphql?.roots.CREATE;
  return (
    <article class="card">
      <div class="title">
        <h2>
          <a href={dataLink(name)}>
            <Name text={name} />
          </a>
        </h2>
        {isRefused(resource, 'LIST') ? <Locked to="read" /> : <CountOf resource={resource} schema={schema} />}
      </div>
      <p class="quiet">
        {description ? (
          <Prose text={description} />
        ) : (
          <Name text={columns.map((column) => column.name).join(', ')} />
        )}
      </p>
      <p class="doorways">
        {rest && <span class="tag rest mono">{rest.path}</span>}
        {root && <span class="tag graphql mono">{root}</span>}
      </p>
    </article>
  );
}
