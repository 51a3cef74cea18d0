/** The comparison as a picture, machine by machine: for each row, everybody's throughput as a share of the limit's. */

import type { Comparison } from './compare.ts';
import { type Column, columnNames, columns, peerNames } from './contenders.ts';
import { median } from './load.ts';
import { architectures, type Machine, named } from './machine.ts';
import { type Row, rowNames, rows } from './rows.ts';

/** Told apart in light and in dark, and by those who do not see all colours; the order is that of the columns. */
const colours: Record<Column, string> = {
  jsonServer: '#b08a3e',
  platformatic: '#8f6fc4',
  postgraphile: '#c8648c',
  fastify: '#5f8f4e',
  limit: '#8a9099',
  duet: '#1f7fd6',
};

const WIDTH = 912;
const LABELS = 312;
const NUMBERS = 80;
const BAR = 13;
const GAP = 20;
const TOP = 46;
const HEAD = 34;

/** Text takes the colour of the page's scheme, since a picture has no way to ask its page. */
const style = `
  text { font: 12px system-ui, sans-serif; fill: #24292f }
  .title { font-weight: 600 }
  .axis { stroke: #8c959f; stroke-dasharray: 3 3 }
  @media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .axis { stroke: #6e7681 } }
`;

interface Run {
  readonly machine: Machine;
  readonly comparison: Comparison;
}

export function plot(runs: readonly Run[]): string {
  const parts: string[] = [];
  let y = TOP;
  for (const run of runs) {
    parts.push(text(12, y, named(run.machine), 'title'));
    const panel = panelOf(run.comparison, y + HEAD);
    parts.push(...panel.parts);
    y = panel.end + GAP;
  }
  const missing = architectures.filter((each) => !runs.some(({ machine }) => machine.architecture === each));
  if (missing.length > 0) {
    parts.push(text(12, y, `Not measured yet: ${missing.join(', ')}`));
    y += GAP;
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y}" role="img" aria-label="Requests per second of Duet, its peers and handlers written by hand">
<style>${style}</style>
${legend()}
${parts.join('\n')}
</svg>
`;
}

/** The rows in which Duet has a peer: what has none is in the table. */
function panelOf(comparison: Comparison, top: number) {
  const shown = rowNames
    .filter((row) => peerNames.some((peer) => comparison.cells[row]?.[peer]))
    .map((row) => ({ row, found: bars(comparison, row) }))
    .filter(({ found }) => found.length > 0);
  // Whoever is faster than the limit needs room beyond it.
  const most = Math.max(1, ...shown.flatMap(({ found }) => found.map(({ share }) => share)));
  const scale = (WIDTH - LABELS - NUMBERS) / most;
  const parts: string[] = [];
  let y = top;
  for (const { row, found } of shown) {
    const middle = y + (found.length * BAR) / 2 + 4;
    parts.push(text(LABELS - 12, middle, plain(rows[row].title), 'title', 'end'));
    for (const { column, perSecond, share } of found) {
      const width = Math.max(1, share * scale).toFixed(1);
      const label = `${Math.round(perSecond).toLocaleString('en')}/s`;
      parts.push(
        `<rect x="${LABELS}" y="${y}" width="${width}" height="${BAR - 2}" fill="${colours[column]}"><title>${columns[column]}: ${label}</title></rect>`,
        text(LABELS + Number(width) + 6, y + BAR - 3, label, column === 'duet' ? 'title' : undefined),
      );
      y += BAR;
    }
    y += GAP;
  }
  const edge = LABELS + scale;
  parts.push(
    text(edge, top - 12, 'the limit', undefined, 'middle'),
    `<line class="axis" x1="${edge}" x2="${edge}" y1="${top - 8}" y2="${y - GAP + 4}"/>`,
  );
  return { parts, end: y };
}

function bars({ cells }: Comparison, row: Row) {
  const rate = (column: Column) => {
    const outcomes = cells[row]?.[column];
    return outcomes && median(outcomes.map(({ perSecond }) => perSecond));
  };
  const limit = rate('limit');
  if (limit === undefined) return [];
  return columnNames.flatMap((column) => {
    const perSecond = rate(column);
    return perSecond === undefined ? [] : [{ column, perSecond, share: perSecond / limit }];
  });
}

function legend(): string {
  let x = 12;
  return columnNames
    .map((column) => {
      const at = x;
      x += 34 + columns[column].length * 6.4;
      return `<rect x="${at}" y="10" width="11" height="11" fill="${colours[column]}"/>${text(at + 16, 20, columns[column])}`;
    })
    .join('\n');
}

function text(x: number, y: number, content: string, name?: string, anchor?: string): string {
  const attributes = `${name ? ` class="${name}"` : ''}${anchor ? ` text-anchor="${anchor}"` : ''}`;
  return `<text x="${x}" y="${y}"${attributes}>${content}</text>`;
}

function plain(markdown: string): string {
  return markdown.replaceAll('`', '');
}
