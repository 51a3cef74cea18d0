/** What is wrong with the files that somebody is working on: with the schema file at its lines. */

import type { FileState } from '../schema/file.ts';

/** What is wrong, by the file that it is wrong with: whatever is no other file's is the schema file's. */
export function faultsByFile({ faults = [], file = '' }: FileState): Map<string, string[]> {
  return Map.groupBy(faults, (fault) => /^(?:cannot read )?(\S+\.(?:json|[jt]s))\b/.exec(fault)?.[1] ?? file);
}

export function FileNotice({ state }: { state: FileState }) {
  const files = [...faultsByFile(state).keys()];
  return (
    <div class="notice bad" role="alert">
      <div>
        <strong>
          {files.join(' and ')} {files.length > 1 ? 'have' : 'has'} errors; the last valid version is served.
        </strong>
        <FileFaults state={state} />
      </div>
    </div>
  );
}

export function FileFaults({
  state,
  faults = state.faults ?? [],
}: {
  state: FileState;
  faults?: readonly string[];
}) {
  const lines = state.text?.split('\n');
  return (
    <ul class="faults">
      {faults.map((fault) => {
        const [, place, line, message] = /^(.+?):(\d+):\d+ (.*)$/s.exec(fault) ?? [];
        const source = place === state.file ? lines?.[Number(line) - 1]?.trim() : undefined;
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
