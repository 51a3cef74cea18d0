/** A small plot: lines over time, from nothing up to the highest value that is in it. */

import { Fragment } from 'preact';

export interface Line {
  /** Undefined where there was nothing to measure: the line has a gap. */
  readonly values: readonly (number | undefined)[];
  /** How it is drawn: `first`, `second`, `third` or `bad`. */
  readonly look: string;
}

interface Props {
  lines: readonly Line[];
  label: string;
  /** Writes the highest value. */
  written: (value: number) => string;
  large?: boolean;
}

const WIDTH = 100;
const HEIGHT = 26;
/** Between the lines at the bottom and the top. */
const MARGIN = 2;
/** Fewer values than these do not fill the width yet. */
const FULL = 15;

export function Plot({ lines, label, written, large = false }: Props) {
  const highest = Math.max(0, ...lines.flatMap(({ values }) => values.map((value = 0) => value)));
  const y = (value: number) =>
    HEIGHT - MARGIN - (highest === 0 ? 0 : (value / highest) * (HEIGHT - 2 * MARGIN));
  const told = `${label}, at most ${written(highest)}`;
  const plot = (
    <svg
      class={large ? 'plot large' : 'plot'}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={told}
    >
      <title>{told}</title>
      <path class="floor" d={`M0 ${HEIGHT - 1}H${WIDTH}${large ? `M0 ${MARGIN}H${WIDTH}` : ''}`} />
      {lines.map(({ values, look }) => {
        const step = WIDTH / (Math.max(FULL, values.length) - 1);
        const x = (at: number) => WIDTH - (values.length - 1 - at) * step;
        let [line, dots] = ['', ''];
        for (const [at, value] of values.entries()) {
          if (value === undefined) continue;
          const isNext = values[at - 1] !== undefined;
          const place = `${x(at).toFixed(1)},${y(value).toFixed(1)}`;
          // One alone makes no line.
          if (isNext || values[at + 1] !== undefined) line += `${isNext ? 'L' : 'M'}${place}`;
          else dots += `M${place}h0`;
        }
        return (
          <Fragment key={look}>
            {line && <path class={look} d={line} />}
            {dots && <path class={`${look} dot`} d={dots} />}
          </Fragment>
        );
      })}
    </svg>
  );
  if (!large) return plot;
  return (
    <div class="scaled">
      {plot}
      <span class="quiet small" aria-hidden="true">
        {highest > 0 && written(highest)}
      </span>
      <span class="quiet small" aria-hidden="true">
        0
      </span>
    </div>
  );
}
