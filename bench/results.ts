/** `bench/results`: a file for each architecture, and the table and the picture that are made of all of them. */

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Effort } from './compare.ts';
import type { Table } from './growth.ts';
import { median } from './load.ts';
import { type Architecture, architectures, named } from './machine.ts';
import { plot } from './plot.ts';
import { ABSENT, markdown, report } from './report.ts';
import { rowNames, rows } from './rows.ts';
import { ofLimit, type Results, ratio } from './targets.ts';

/** A whole run. */
export type Measured = Results & {
  readonly effort: Effort;
  readonly comparison: NonNullable<Results['comparison']>;
};

const folder = join(import.meta.dir, 'results');
const fileOf = (architecture: Architecture) => join(folder, `${architecture}.json`);

export function keep(measured: Results & { readonly effort: Effort }): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(fileOf(measured.machine.architecture), `${JSON.stringify(measured, null, 2)}\n`);
}

/** Of what was kept: the last run on each architecture, whichever machine this is. */
export function publish(): void {
  const runs = architectures.map((architecture) => {
    const file = fileOf(architecture);
    const run = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Measured) : undefined;
    return { architecture, run };
  });
  const present = runs.flatMap(({ run }) => run ?? []);
  const text = [
    '# Results of `npm run bench`',
    'The last whole run on each architecture. Machines differ in more than that: what compares is a ratio, not a rate.',
    markdown(sideBySide(present)),
    ...runs.map(({ architecture, run }) =>
      [`## ${architecture}`, run ? report(run, run.effort) : missing(architecture)].join('\n\n'),
    ),
  ];
  writeFileSync(join(folder, 'table.md'), `${text.join('\n\n')}\n`);
  writeFileSync(join(folder, 'plot.svg'), plot(present));
}

function missing(architecture: Architecture): string {
  return `There is no run yet: \`npm run bench\` on such a machine writes \`bench/results/${architecture}.json\`, and this page anew.`;
}

function sideBySide(runs: readonly Measured[]): Table {
  const measured = rowNames.filter((row) => runs.some(({ comparison }) => comparison.cells[row]?.duet));
  return {
    title: 'Duet beside the handlers by hand, on each machine',
    head: [
      '',
      ...runs.flatMap(({ machine: { architecture } }) => [
        `${architecture}: requests/s`,
        'of the limit',
        'asked',
      ]),
    ],
    rows: measured.map((row) => [
      rows[row].title,
      ...runs.flatMap(({ machine, comparison }) => {
        const outcomes = comparison.cells[row]?.duet;
        const asked = ofLimit[machine.architecture][row];
        return [
          outcomes ? median(outcomes.map(({ perSecond }) => perSecond)) : ABSENT,
          ratio(comparison, row, 'duet', 'limit')?.toFixed(2) ?? ABSENT,
          asked === undefined ? ABSENT : `≥ ${asked}`,
        ];
      }),
    ]),
    note: runs.map(({ machine }) => `${machine.architecture}: ${named(machine)}.`).join(' '),
  };
}
