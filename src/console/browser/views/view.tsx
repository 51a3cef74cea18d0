/** Which view a place is. */

import { useEffect, useRef } from 'preact/hooks';
import { place as here, type Place } from '../address.ts';
import { graphqlWire } from '../doors/graphql.ts';
import { to } from '../links.ts';
import type { Resource, Schema } from '../schema/types.ts';
import { beside, records } from './beside.ts';
import { Framed } from './framed.tsx';
import { Home } from './home.tsx';
import { later } from './later.tsx';
import { listAsk } from './list-place.ts';
import { labelOf } from './operate/places.ts';
import { AllOf, Empty } from './parts.tsx';
import { tools } from './tools.ts';

// Whoever comes to a record waits for it while the service describes itself, and not after that.
if (here.value.path[0] === 'data') void records();

const List = later(records, 'List');
const Record = later(records, 'Record');
const Create = later(records, 'Create');
const Edit = later(records, 'Edit');
const Diagram = later(() => import('./diagram.tsx'), 'Diagram');
const History = later(beside, 'History');
const Run = later(beside, 'Run');
const Import = later(beside, 'Import');
const Operate = later(beside, 'Operate');

export function View({ schema, place }: { schema: Schema; place: Place }) {
  const [area, ...rest] = place.path;
  const moved = useRef(false);
  // What had the focus may be gone with the last view: then the next Tab begins in this one, not at the top.
  useEffect(() => {
    if (moved.current && document.activeElement === document.body) document.getElementById('main')?.focus();
    moved.current = true;
  }, [place.path.join('/')]);
  useEffect(() => {
    document.title = [...titleOf(place.path), 'Duet'].join(' · ');
  });
  switch (area) {
    case undefined:
      return <Home schema={schema} />;
    case 'data': {
      const resource = schema.byName.get(rest[0] ?? '');
      return resource ? (
        <Data
          key={resource.name}
          schema={schema}
          resource={resource}
          path={rest.slice(1)}
          query={place.query}
        />
      ) : (
        <Nowhere />
      );
    }
    case 'actions': {
      const action = schema.actions.find(({ name }) => name === rest[0]);
      const key = `${rest[0]}?${place.query}`;
      return action ? <Run key={key} schema={schema} action={action} query={place.query} /> : <Nowhere />;
    }
    case 'schema':
      return <Diagram schema={schema} />;
    case 'operate':
      return <Operate />;
    case 'graphiql':
      return (
        <Framed
          title="GraphiQL"
          src="/_console/graphiql"
          query={place.query.has('query') ? place.query : exampleOf(schema)}
        />
      );
    case 'reference':
      return <Framed title="API reference" src="/_console/reference" />;
    default:
      return <Nowhere />;
  }
}

/** Something to run at once, for whoever has written nothing yet. */
function exampleOf(schema: Schema): URLSearchParams {
  const first = schema.resources.find(({ graphql }) => graphql?.roots.LIST !== undefined);
  const wire = first && graphqlWire(listAsk(first, new URLSearchParams()), schema);
  if (!wire?.graphql) return new URLSearchParams();
  const { query, variables } = wire.graphql;
  return new URLSearchParams({ example: query, variables: JSON.stringify(variables, null, 2) });
}

/** What a bookmark is called. */
function titleOf([area, name, what, key, how]: readonly string[]): string[] {
  if (area === 'actions' && name !== undefined) return [name];
  if (area === 'operate') return labelOf(name);
  if (area !== 'data') return tools.filter((tool) => tool.area === area).map(({ label }) => label);
  if (name === undefined) return [];
  if (what === 'new') return [`New ${name}`];
  if (what === 'import') return [`Import into ${name}`];
  if (key === undefined) return [name];
  const kinds: Readonly<Record<string, string>> = { edit: 'Edit ', history: 'History of ' };
  return [`${kinds[how ?? ''] ?? ''}${name} ${key}`];
}

interface DataProps {
  schema: Schema;
  resource: Resource;
  path: readonly string[];
  query: URLSearchParams;
}

/** Keys may be any text, so that only a place of its own can be told from them: `new` has no key after it. */
function Data({ schema, resource, path, query }: DataProps) {
  const [first, second, third] = path;
  if (first === undefined) return <List schema={schema} resource={resource} query={query} />;
  if (first === 'new')
    return <Create key={query.toString()} schema={schema} resource={resource} query={query} />;
  if (first === 'import' && resource.operations.has('CREATE'))
    return <Import schema={schema} resource={resource} />;
  if (first !== 'record' || second === undefined) return <Nowhere resource={resource} />;
  if (third === 'edit') return <Edit key={second} schema={schema} resource={resource} id={second} />;
  if (third === 'history' && resource.operations.has('CHANGES'))
    return (
      <History
        key={second}
        schema={schema}
        resource={resource}
        id={second}
        after={query.get('after') ?? undefined}
      />
    );
  return <Record key={second} schema={schema} resource={resource} id={second} />;
}

/** `resource`: the type that the address names, if there is one. */
function Nowhere({ resource }: { resource?: Resource }) {
  return (
    <Empty icon="search" title="There is nothing at this address">
      <span>The schema may have changed.</span>
      {resource && <AllOf {...resource} />}
      <a class="button" href={to([])}>
        Home
      </a>
    </Empty>
  );
}
