/** A small plot: lines over time, from nothing up to the highest value that is in it. */

interface Line {
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
/** Fewer values than these do not fill the width yet. */
const FULL = 15;

export function Plot({ lines, label, written, large = false }: Props) {
  const highest = Math.max(0, ...lines.flatMap(({ values }) => values));
  const y = (value: number) => HEIGHT - 2 - (highest === 0 ? 0 : (value / highest) * (HEIGHT - 4));
  return (
    <svg
      class={large ? 'plot large' : 'plot'}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`${label}, at most ${written(highest)}`}
    >
      <path class="floor" d={`M0 ${HEIGHT - 1}H${WIDTH}`} />
      {lines.map(({ values, look }) => {
        const step = WIDTH / (Math.max(FULL, values.length) - 1);
        const x = (at: number) => WIDTH - (values.length - 1 - at) * step;
        const points = values.map((value, at) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`);
        if (points.length < 2) return null;
        return <polyline key={look} class={look} points={points.join(' ')} />;
      })}
    </svg>
  );
}
