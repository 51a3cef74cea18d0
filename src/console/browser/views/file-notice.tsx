/** What is wrong with the schema file that somebody is working on, at its lines. */

import type { FileState } from '../schema/file.ts';

export function FileNotice({ state }: { state: FileState }) {
  return (
    <div class="notice bad" role="alert">
      <div>
        <strong>The schema file has errors; the last valid version is served.</strong>
        <FileFaults state={state} />
      </div>
    </div>
  );
}

export function FileFaults({ state: { faults = [], file, text } }: { state: FileState }) {
  const lines = text?.split('\n');
  return (
    <ul class="faults">
      {faults.map((fault) => {
        const [, place, line, message] = /^(.+?):(\d+):\d+ (.*)$/s.exec(fault) ?? [];
        const source = place === file ? lines?.[Number(line) - 1]?.trim() : undefined;
        return (
          <li key={fault}>
            {message === undefined ? fault : `Line ${line}: ${message}`}
            {source && <code>{source}</code>}
          </li>
        );
      })}
    </ul>
  );
}
