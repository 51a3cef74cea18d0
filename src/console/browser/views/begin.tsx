/** The first screen where nothing can be served yet: the file that everything follows from, what is wrong with it, and what to do next. */

import { counted } from '../amounts.ts';
import type { FileState } from '../schema/file.ts';
import { FileFaults, faultsByFile } from './file-notice.tsx';
import { Copy } from './parts.tsx';

const EXAMPLE = `type Book @resource {
  id: ID!
  title: String!
  pages: Int
}
`;

/** By what there is: a file that is not there or empty can be written, and another can be looked at. */
const commands = (isEmpty: boolean): readonly (readonly [string, string])[] => {
  const init = 'writes a small schema file with records to begin with; with --example shop, a whole shop.';
  const diff = 'shows what the file would change: tables, REST, GraphQL and rules.';
  const check = ['check', 'reports every error in the file. It needs no database.'] as const;
  const serve = 'serves the file as in production, where it does not start while there are errors.';
  return [
    ...(isEmpty ? [['init', init] as const, check] : [check, ['diff', diff] as const]),
    ['serve', serve],
  ];
};

export function Begin({ state }: { state: FileState }) {
  const { path, file = '', text, command } = state;
  const byFile = faultsByFile(state);
  const isNew = !text?.includes('@resource');
  return (
    <div class="begin">
      <div>
        <h1>{isNew ? 'Nothing is served yet' : 'The service cannot start yet'}</h1>
        <p class="quiet lead">
          One file declares the whole service. This page looks at it again whenever it is saved, and shows the
          data as soon as it is valid.
        </p>
      </div>
      <section aria-label="The schema file" class="card">
        <h2>The schema file</h2>
        <p class="row">
          <code>{path}</code>
          <Copy text={() => path ?? ''} label="Copy the path" />
        </p>
        {text === undefined ? (
          <p role="status">There is no such file yet.</p>
        ) : text.trim() === '' ? (
          <p role="status">It is empty.</p>
        ) : (
          <Wrong faults={byFile.get(file)} state={state} />
        )}
      </section>
      {[...byFile].map(
        ([name, faults]) =>
          name !== file && (
            <section key={name} aria-label={name} class="card">
              <h2>{name}</h2>
              <Wrong faults={faults} state={state} />
            </section>
          ),
      )}
      {isNew && (
        <section aria-label="What to write" class="card">
          <h2>What to write into it</h2>
          <p>
            Every type with <code>@resource</code> becomes a table, a path in REST and fields in GraphQL, with
            the same checks and rules. This one is <code>/books</code> and <code>books</code>:
          </p>
          <pre>{EXAMPLE}</pre>
          <p>
            <Copy text={() => EXAMPLE} label="Copy the example" />
          </p>
        </section>
      )}
      <section aria-label="Next commands" class="card">
        <h2>The next three commands</h2>
        <dl>
          {commands(!text?.trim()).map(([name, does]) => (
            <div key={name}>
              <dt>
                <code>
                  {command} {name}
                </code>
              </dt>
              <dd>{does}</dd>
            </div>
          ))}
        </dl>
      </section>
    </div>
  );
}

function Wrong({ faults = [], state }: { faults?: readonly string[] | undefined; state: FileState }) {
  return (
    <div role="status">
      <p>
        {faults.length === 0
          ? 'No errors.'
          : `${counted(faults.length, 'error')} in the last version that was saved:`}
      </p>
      <FileFaults faults={faults} state={state} />
    </div>
  );
}
