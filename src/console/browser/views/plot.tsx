/** A small plot: lines over time, from nothing up to the highest value that is in it. */

export interface Line {
  readonly values: readonly number[];
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
  const highest = Math.max(0, ...lines.flatMap(({ values }) => values));
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
        const points = values.map((value, at) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`);
        if (points.length < 2) return null;
        return <polyline key={look} class={look} points={points.join(' ')} />;
      })}
    </svg>
  );
  if (!large) return plot;
  return (
    <div class="scaled">
      {plot}
      <span class="quiet small" aria-hidden="true">
        {written(highest)}
      </span>
      <span class="quiet small" aria-hidden="true">
        0
      </span>
    </div>
  );
}
