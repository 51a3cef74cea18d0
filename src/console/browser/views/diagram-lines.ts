/** The diagram as it is drawn: boxes, and lines that lead around them from references to the types that these refer to. */

import { type Resource, referencesOf } from '../schema/types.ts';
import { type Box, extent, GAP, HEAD, MARGIN, placed, ROW } from './diagram-layout.ts';

/** Between a line and the boxes that it passes. */
const ASIDE = GAP / 2;
/** Between lines beside each other. */
const APART = 10;
/** Of a corner. */
const ROUND = 6;

export interface Edge {
  readonly from: string;
  readonly to: string;
  readonly name: string;
  readonly path: string;
  readonly required: boolean;
}

interface Picture {
  readonly boxes: readonly Box[];
  readonly edges: readonly Edge[];
  readonly width: number;
  readonly height: number;
}

/** Where a line to a box runs beside others: which of the lanes there it has, from where to where. */
interface Taken {
  readonly to: Box;
  readonly lane: number;
  readonly low: number;
  readonly high: number;
}

export function draw(resources: readonly Resource[], isWhole: boolean, isNarrow: boolean): Picture {
  const boxes = placed(resources, isWhole, isNarrow);
  const byName = new Map(boxes.map((box) => [box.resource.name, box]));
  const pairs = boxes.flatMap((from) =>
    referencesOf(from.resource).flatMap(({ name, target, required }) => {
      const to = byName.get(target);
      return to ? [{ from, to, name, required }] : [];
    }),
  );
  const related = [...new Set(pairs.flatMap(({ from, to }) => [from, to]))];
  // Boxes of a column have one middle.
  const columns = [...Map.groupBy(related, ({ x, width }) => Math.round(x + width / 2)).values()]
    .map((within) => ({
      within,
      left: Math.min(...within.map(({ x }) => x)),
      right: Math.max(...within.map(({ x, width }) => x + width)),
      beside: [] as Taken[],
      through: new Map<number, Taken[]>(),
    }))
    .toSorted((one, other) => one.left - other.left);
  const { width: wide, height } = extent(boxes);
  let width = wide;

  /** Through a column, as near to a height as its boxes let it. */
  const passing = ({ within, through }: (typeof columns)[number], wanted: number, to: Box): number => {
    const isFree = (y: number) =>
      within.every((box) => y < box.y - ASIDE + 1 || y > box.y + box.height + ASIDE - 1);
    const [y = wanted] = [wanted, ...within.flatMap((box) => [box.y - ASIDE, box.y + box.height + ASIDE])]
      .filter(isFree)
      .toSorted((one, other) => Math.abs(one - wanted) - Math.abs(other - wanted));
    const taken = through.get(y) ?? [];
    through.set(y, taken);
    const lane = laneIn(taken, to, 0, 1);
    return y + Math.ceil(lane / 2) * (lane % 2 === 0 ? 5 : -5);
  };

  /** From the head of the box that it leads to, back to the line of the reference: so that the dashes of lines to one box are the same. */
  const pathOf = (to: Box, from: Box, name: string): string => {
    const row = from.lines.findIndex((line) => line.name === name);
    const [y1, y2] = [to.y + HEAD / 2, from.y + HEAD + 3 + (row + 0.5) * ROW];
    const [first, last] = [to, from].map((box) => columns.find(({ within }) => within.includes(box)));
    if (!first || !last) return '';
    // To itself, or to one above or below it.
    if (first === last) {
      const lane = laneIn(first.beside, to, Math.min(y1, y2), Math.max(y1, y2));
      const x = first.right + ASIDE + lane * APART;
      width = Math.max(width, x);
      const turn = y1 < y2 ? ROUND : -ROUND;
      return `M${to.x + to.width} ${y1}H${x - ROUND}q${ROUND} 0 ${ROUND} ${turn}V${y2 - turn}q0 ${turn} ${-ROUND} ${turn}H${from.x + from.width}`;
    }
    const isRight = first.left < last.left;
    const between = columns.filter(({ left }) => (left - first.left) * (left - last.left) < 0);
    // Straight at first, under its arrow.
    let [x, y] = [isRight ? first.right + APART : first.left - APART, y1];
    let path = `M${isRight ? to.x + to.width : to.x} ${y}H${x}`;
    for (const column of [...(isRight ? between : between.toReversed()), last]) {
      const [near, far] = isRight ? [column.left, column.right] : [column.right, column.left];
      const [middle, next] = [(x + near) / 2, column === last ? y2 : passing(column, y1, to)];
      path += `C${middle} ${y},${middle} ${next},${near} ${next}H${column === last ? (isRight ? from.x : from.x + from.width) : far}`;
      [x, y] = [far, next];
    }
    return path;
  };

  const edges = pairs.map(({ from, to, name, required }) => ({
    from: from.resource.name,
    to: to.resource.name,
    name,
    required,
    path: pathOf(to, from, name),
  }));
  return { boxes, edges, width: width + MARGIN, height: height + MARGIN };
}

/** The first where no line to another box is in the way: those to one box are one line. */
function laneIn(taken: Taken[], to: Box, low: number, high: number): number {
  let lane = 0;
  const isTaken = (each: Taken) => each.lane === lane && each.to !== to && each.low < high && low < each.high;
  while (taken.some(isTaken)) lane++;
  taken.push({ to, lane, low, high });
  return lane;
}
