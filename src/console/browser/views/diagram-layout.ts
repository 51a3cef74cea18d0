/** Where the boxes of the diagram are. */

import { type Described, type Resource, referencesOf, type Schema, shownType } from '../schema/types.ts';

export const ROW = 22;
export const HEAD = 32;
export const MARGIN = 30;
export const GAP = 28;
/** Between columns, for the lines from one to the next. */
const ASIDE = 90;
/** How often the boxes are drawn nearer to what they are related to. */
const SWEEPS = 24;
/** Unrelated boxes are put in rows of these widths, or beside the others; what fits a window best is shown. */
const ROW_WIDTHS = [900, 1300, 1800, 2400];
/** The shape of the windows that most people have. */
const WINDOW = 1.6;
/** Of a character in the type that the diagram is written in. */
const CHARACTER = 7.3;

interface Line extends Described {
  readonly type: string;
  /** Whether it leads to another box. */
  readonly relation: boolean;
  readonly isKey: boolean;
}

export interface Box {
  readonly resource: Resource;
  readonly lines: readonly Line[];
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

type Size = Pick<Box, 'lines' | 'width' | 'height'>;

/** The types whose names have this in them, and those that they refer to or are referred to by. */
export function around({ resources }: Schema, text: string): readonly Resource[] {
  const wanted = text.trim().toLowerCase();
  const isNamed = ({ name }: Resource) => name.toLowerCase().includes(wanted);
  const named = new Set(resources.filter(isNamed).map(({ name }) => name));
  const beyond = resources.filter(isNamed).flatMap((resource) => referencesOf(resource));
  const targets = new Set(beyond.map(({ target }) => target));
  return resources.filter(
    (resource) =>
      named.has(resource.name) ||
      targets.has(resource.name) ||
      referencesOf(resource).some(({ target }) => named.has(target)),
  );
}

/** With all fields, or with keys and relations alone; in a narrow window one below the other. */
export function placed(resources: readonly Resource[], isWhole: boolean, isNarrow: boolean): readonly Box[] {
  const sizes = new Map(resources.map((resource) => [resource.name, sized(resource, isWhole)]));
  const links = resources.flatMap((resource) =>
    referencesOf(resource)
      .filter(({ target }) => sizes.has(target))
      .map(({ target }): Link => [resource.name, target]),
  );
  const related = new Set(links.flat());
  const unplaced = resources.flatMap((resource) => {
    const size = sizes.get(resource.name);
    return size ? [{ resource, ...size }] : [];
  });
  return isNarrow
    ? stacked(unplaced, links)
    : beside(
        unplaced.filter(({ resource }) => !related.has(resource.name)),
        layered(
          unplaced.filter(({ resource }) => related.has(resource.name)),
          links,
        ),
      );
}

/** A type, and one that it refers to. */
type Link = readonly [string, string];

/** In columns: what refers to others stands on their left, as high as what it is related to, on the average. */
function layered(boxes: readonly Unplaced[], links: readonly Link[]): Box[] {
  const depths = depthsOf(boxes, links);
  const layers = [...Map.groupBy(boxes, ({ resource }) => depths.get(resource.name) ?? 0)]
    .toSorted(([one], [other]) => other - one)
    .map(([, layer]) => layer);
  const near = new Map(
    boxes.map(({ resource: { name } }) => [
      name,
      links.flatMap((link) => (link.includes(name) ? link.filter((each) => each !== name) : [])),
    ]),
  );
  /** Their middles, from above. */
  const middles = new Map<string, number>();
  const place = (layer: readonly Unplaced[], wanted: (box: Unplaced) => number) => {
    let bottom = Number.NEGATIVE_INFINITY;
    const placed = layer
      .toSorted((one, other) => wanted(one) - wanted(other))
      .map((box) => {
        const top = Math.max(bottom + GAP, wanted(box) - box.height / 2);
        bottom = top + box.height;
        return {
          name: box.resource.name,
          middle: top + box.height / 2,
          off: bottom - box.height / 2 - wanted(box),
        };
      });
    const off = mean(placed.map((each) => each.off));
    for (const { name, middle } of placed) middles.set(name, middle - off);
  };
  for (const layer of layers) place(layer, () => 0);
  for (let sweep = 0; sweep < SWEEPS; sweep++)
    for (const layer of sweep % 2 === 0 ? layers : layers.toReversed()) {
      const now = new Map(middles);
      place(layer, ({ resource: { name } }) =>
        mean((near.get(name) ?? [name]).map((each) => now.get(each) ?? 0)),
      );
    }
  const lefts = new Map<string, number>();
  let x = MARGIN;
  for (const layer of layers) {
    const widest = Math.max(...layer.map(({ width }) => width));
    for (const { resource, width } of layer) lefts.set(resource.name, x + (widest - width) / 2);
    x += widest + ASIDE;
  }
  const topOf = ({ resource, height }: Unplaced) => (middles.get(resource.name) ?? 0) - height / 2;
  const highest = Math.min(...boxes.map(topOf));
  // In the order of the file, in which they are read out.
  return boxes.map((box) => ({
    ...box,
    x: lefts.get(box.resource.name) ?? 0,
    y: topOf(box) - highest + MARGIN,
  }));
}

/** How many references lead on from each, one after the other; a way that comes back to itself ends there. */
function depthsOf(boxes: readonly Unplaced[], links: readonly Link[]): ReadonlyMap<string, number> {
  const targets = Map.groupBy(links, ([from]) => from);
  const depths = new Map<string, number>();
  const within = new Set<string>();
  const depthOf = (name: string): number => {
    const known = depths.get(name);
    if (known !== undefined) return known;
    within.add(name);
    const ahead = (targets.get(name) ?? [])
      .filter(([, to]) => !within.has(to))
      .map(([, to]) => depthOf(to) + 1);
    within.delete(name);
    const depth = Math.max(0, ...ahead);
    depths.set(name, depth);
    return depth;
  };
  for (const { resource } of boxes) depthOf(resource.name);
  // What refers to nothing stands beside the nearest that refers to it.
  const sources = Map.groupBy(links, ([, to]) => to);
  const nearest = (name: string) =>
    Math.min(...(sources.get(name) ?? []).map(([from]) => depths.get(from) ?? 1)) - 1;
  return new Map([...depths].map(([name, depth]) => [name, depth > 0 ? depth : Math.max(0, nearest(name))]));
}

function mean(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0) / Math.max(1, numbers.length);
}

/** One below the other, those that are related equally wide, so that lines have their right side for themselves: what refers to others stands above them. */
function stacked(boxes: readonly Unplaced[], links: readonly Link[]): Box[] {
  const depths = depthsOf(boxes, links);
  const related = new Set(links.flat());
  const isRelated = ({ resource: { name } }: Unplaced) => related.has(name);
  const depthOf = (box: Unplaced) => (isRelated(box) ? (depths.get(box.resource.name) ?? 0) : -1);
  const widest = Math.max(0, ...boxes.filter(isRelated).map(({ width }) => width));
  const tops = new Map<Unplaced, number>();
  let y = MARGIN;
  for (const box of boxes.toSorted((one, other) => depthOf(other) - depthOf(one))) {
    tops.set(box, y);
    y += box.height + GAP;
  }
  return boxes.map((box) => ({
    ...box,
    width: isRelated(box) ? widest : box.width,
    x: MARGIN / 2,
    y: tops.get(box) ?? 0,
  }));
}

/** What is related to nothing stands below the rest or beside it: wherever the whole can be shown largest. */
function beside(alone: readonly Unplaced[], others: readonly Box[]): readonly Box[] {
  const open = alone.toSorted((one, other) => other.height - one.height);
  const { width, height } = extent(others);
  const tallest = Math.max(height, ...open.map((box) => box.height));
  const ways = [
    columns(open, width === 0 ? MARGIN : width + GAP, tallest),
    ...ROW_WIDTHS.map((wide) => rows(open, height === 0 ? MARGIN : height + GAP, Math.max(width, wide))),
  ];
  const [best = []] = ways
    .map((way) => [...others, ...way])
    .toSorted((one, other) => fitting(extent(other)) - fitting(extent(one)));
  return best;
}

type Unplaced = Omit<Box, 'x' | 'y'>;

function rows(boxes: readonly Unplaced[], top: number, right: number): Box[] {
  let [x, y, tallest] = [MARGIN, top, 0];
  return boxes.map((box) => {
    if (x > MARGIN && x + box.width > right) [x, y, tallest] = [MARGIN, y + tallest + GAP, 0];
    const placed = { ...box, x, y };
    x += box.width + GAP;
    tallest = Math.max(tallest, box.height);
    return placed;
  });
}

function columns(boxes: readonly Unplaced[], left: number, bottom: number): Box[] {
  let [x, y, widest] = [left, MARGIN, 0];
  return boxes.map((box) => {
    if (y > MARGIN && y + box.height > MARGIN + bottom) [x, y, widest] = [x + widest + GAP, MARGIN, 0];
    const placed = { ...box, x, y };
    y += box.height + GAP;
    widest = Math.max(widest, box.width);
    return placed;
  });
}

export function extent(boxes: readonly Box[]): { width: number; height: number } {
  return {
    width: Math.max(0, ...boxes.map(({ x, width }) => x + width)),
    height: Math.max(0, ...boxes.map(({ y, height }) => y + height)),
  };
}

/** How large something of this size can be shown. */
function fitting({ width, height }: { width: number; height: number }): number {
  return Math.min(WINDOW / width, 1 / height);
}

function sized(resource: Resource, isWhole: boolean): Size {
  const lines = linesOf(resource).filter(({ relation, isKey }) => isWhole || relation || isKey);
  const widest = Math.max(
    resource.name.length * 1.2 + 4,
    ...lines.map(({ name, type }) => name.length + type.length + 4),
  );
  return { lines, width: Math.round(widest * CHARACTER) + 24, height: HEAD + lines.length * ROW + 6 };
}

/** The fields as the schema file has them: a reference is one, not its key. */
function linesOf({ columns, inverses, key }: Resource): Line[] {
  const own = columns.map((column): Line => {
    const { reference } = column;
    const described = reference ?? column;
    return {
      name: described.name,
      description: described.description,
      deprecated: described.deprecated,
      type: shownType(column),
      relation: reference !== undefined,
      isKey: column === key,
    };
  });
  const lists = inverses.map(
    (inverse): Line => ({ ...inverse, type: `[${inverse.target}!]!`, relation: true, isKey: false }),
  );
  return [...own, ...lists];
}
