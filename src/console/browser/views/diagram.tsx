/** A picture of the schema: types, fields and relations; drag to pan, turn the wheel to zoom, click for the data. */

import { useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { dataLink } from '../links.ts';
import type { Schema } from '../schema/types.ts';
import { around, type Box, HEAD, ROW } from './diagram-layout.ts';
import { draw, type Edge } from './diagram-lines.ts';
import { useSchemaDock } from './dock.tsx';
import { Empty, Icon } from './parts.tsx';

/** Where the picture is in the window, and how large. */
interface Camera {
  readonly x: number;
  readonly y: number;
  readonly scale: number;
}

const STEP = 1.25;
const LEAST = 0.1;
const MOST = 3;
const PAN = 60;
/** Between these it is fitted into the window at first: below, nobody could read it, and one pans instead. */
const SMALL = 0.85;
const LARGE = 1.6;
/** In windows that are narrower, types stand one below the other. */
const NARROW = 600;
/** What stands over its upper edge, unless it is narrow. */
const TOOLS = 40;

export function Diagram({ schema }: { schema: Schema }) {
  const text = useSignal('');
  /** Undefined: as the window has room for. */
  const isWhole = useSignal<boolean | undefined>(undefined);
  const hasRoom = useSignal(true);
  const isNarrow = useSignal(false);
  const wanted = [schema, text.value, isNarrow.value] as const;
  const whole = useMemo(() => draw(around(schema, text.value), true, isNarrow.value), wanted);
  const brief = useMemo(() => draw(around(schema, text.value), false, isNarrow.value), wanted);
  const picture = (isWhole.value ?? hasRoom.value) ? whole : brief;
  const frame = useRef<SVGSVGElement>(null);
  const camera = useSignal<Camera>({ x: 0, y: 0, scale: 1 });
  const fitted = useRef<Camera>(undefined);
  const lit = useSignal('');
  useSchemaDock(schema);

  /** `least`: how small it may become, so that all of it is seen. */
  const fit = (least: number) => {
    const { width = 0, height: all = 0 } = frame.current?.getBoundingClientRect() ?? {};
    isNarrow.value = width < NARROW;
    const above = isNarrow.value ? 0 : TOOLS;
    const height = all - above;
    hasRoom.value = Math.min(width / whole.width, height / whole.height) >= SMALL;
    // A narrow one is begun at its first type, and not shown from afar.
    const isBegun = isNarrow.value && least === SMALL;
    const scale = Math.min(LARGE, width / picture.width, isBegun ? LARGE : height / picture.height);
    const readable = Math.max(scale, isBegun ? 1 : least);
    camera.value = {
      scale: readable,
      x: Math.max(0, (width - picture.width * readable) / 2),
      y: above + Math.max(0, (height - picture.height * readable) / 2),
    };
    fitted.current = camera.value;
  };
  // Also when the window or the panel beside it leaves it another room, unless somebody has moved it.
  useLayoutEffect(() => {
    const { current } = frame;
    if (!current) return;
    fit(SMALL);
    const observer = new ResizeObserver(() => camera.value === fitted.current && fit(SMALL));
    observer.observe(current);
    return () => observer.disconnect();
  }, [picture]);

  const zoom = (by: number, at?: { x: number; y: number }) => {
    const { x, y, scale } = camera.value;
    const { width = 0, height = 0 } = frame.current?.getBoundingClientRect() ?? {};
    const next = Math.max(LEAST, Math.min(MOST, scale * by));
    const still = at ?? { x: width / 2, y: height / 2 };
    const ratio = next / scale;
    camera.value = { scale: next, x: still.x - (still.x - x) * ratio, y: still.y - (still.y - y) * ratio };
  };
  const pan = (dx: number, dy: number) => {
    const { x, y, scale } = camera.value;
    camera.value = { x: x + dx, y: y + dy, scale };
  };

  // Preact listens passively, and a page that scrolls along is no picture that zooms.
  useEffect(() => {
    const { current } = frame;
    if (!current) return;
    const onWheel = (event: WheelEvent) => {
      event.preventDefault();
      const box = current.getBoundingClientRect();
      const at = { x: event.clientX - box.x, y: event.clientY - box.y };
      if (event.ctrlKey || !event.shiftKey) zoom(Math.exp(-event.deltaY / 500), at);
      else pan(-event.deltaY, 0);
    };
    current.addEventListener('wheel', onWheel, { passive: false });
    return () => current.removeEventListener('wheel', onWheel);
  }, []);

  const onPointerDown = (event: PointerEvent) => {
    const { current } = frame;
    if (!current || event.button !== 0) return;
    let moved = false;
    const onMove = (move: PointerEvent) => {
      if (!moved && Math.hypot(move.clientX - event.clientX, move.clientY - event.clientY) < 4) return;
      // From here on it is a drag, and the link under it is not meant.
      if (!moved) current.setPointerCapture(event.pointerId);
      moved = true;
      pan(move.movementX, move.movementY);
    };
    current.addEventListener('pointermove', onMove);
    const end = () => current.removeEventListener('pointermove', onMove);
    current.addEventListener('pointerup', end, { once: true });
    current.addEventListener('pointercancel', end, { once: true });
  };

  const keys: Readonly<Record<string, () => void>> = {
    '+': () => zoom(STEP),
    '=': () => zoom(STEP),
    '-': () => zoom(1 / STEP),
    '0': () => fit(LEAST),
    ArrowLeft: () => pan(PAN, 0),
    ArrowRight: () => pan(-PAN, 0),
    ArrowUp: () => pan(0, PAN),
    ArrowDown: () => pan(0, -PAN),
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const act = event.ctrlKey || event.metaKey ? undefined : keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  };

  if (schema.resources.length === 0) return <Empty icon="graph" title="There is nothing to draw yet" />;
  const { x, y, scale } = camera.value;
  return (
    <div class="diagram">
      <h1 class="sr">Diagram of the schema</h1>
      <div class="tools">
        <input
          type="search"
          aria-keyshortcuts="/"
          aria-label="Show only"
          placeholder="Show only…"
          value={text.value}
          onInput={(event) => {
            text.value = event.currentTarget.value;
          }}
        />
        <button
          type="button"
          aria-pressed={isWhole.value ?? hasRoom.value}
          onClick={() => {
            isWhole.value = !(isWhole.value ?? hasRoom.value);
          }}
        >
          All fields
        </button>
        <button type="button" aria-label="Zoom in" onClick={() => zoom(STEP)}>
          <Icon name="plus" />
        </button>
        <button type="button" aria-label="Zoom out" onClick={() => zoom(1 / STEP)}>
          −
        </button>
        <button type="button" onClick={() => fit(LEAST)}>
          <Icon name="fit" /> Fit
        </button>
      </div>
      {picture.boxes.length === 0 && (
        <p class="none quiet" role="status">
          No type has “{text.value}” in its name.
        </p>
      )}
      <svg
        ref={frame}
        aria-label="Types and their relations"
        // In SVG, names of attributes have their letter case.
        tabindex={0}
        onKeyDown={onKeyDown}
        onPointerDown={onPointerDown}
      >
        <defs>
          <marker
            id="arrow"
            viewBox="0 0 8 8"
            refX="7"
            refY="4"
            markerWidth="8"
            markerHeight="8"
            orient="auto-start-reverse"
          >
            <path d="M0 0 8 4 0 8z" />
          </marker>
        </defs>
        <g transform={`translate(${x} ${y}) scale(${scale})`}>
          {picture.edges.map((edge) => (
            <EdgeLine key={`${edge.from}.${edge.name}`} edge={edge} lit={lit.value} />
          ))}
          {picture.boxes.map((box) => (
            <BoxShape
              key={box.resource.name}
              box={box}
              onLight={(name) => {
                lit.value = name;
              }}
            />
          ))}
        </g>
      </svg>
    </div>
  );
}

function EdgeLine({ edge, lit }: { edge: Edge; lit: string }) {
  const { from, to, path, required } = edge;
  const isLit = lit === from || lit === to;
  return (
    <path
      class={isLit ? 'edge lit' : 'edge'}
      d={path}
      stroke-dasharray={required ? undefined : '5 4'}
      marker-start="url(#arrow)"
    />
  );
}

function BoxShape({ box, onLight }: { box: Box; onLight: (name: string) => void }) {
  const { resource, lines, x, y, width, height } = box;
  return (
    <g transform={`translate(${x} ${y})`} class="box">
      <rect class="body" width={width} height={height} rx="7" />
      <a
        href={dataLink(resource.name)}
        aria-label={`${resource.name}: its data`}
        draggable={false}
        onMouseEnter={() => onLight(resource.name)}
        onMouseLeave={() => onLight('')}
        onFocus={() => onLight(resource.name)}
        onBlur={() => onLight('')}
      >
        <rect class="head" width={width} height={HEAD} rx="7" />
        <text class="name" x="12" y={HEAD / 2}>
          {resource.name}
        </text>
      </a>
      {lines.map(({ name, type, deprecated, relation, isKey, description }, at) => (
        <g
          key={name}
          transform={`translate(0 ${HEAD + 3 + at * ROW})`}
          class={deprecated ? 'line deprecated' : 'line'}
        >
          {description && <title>{description}</title>}
          <text class={isKey ? 'field key' : 'field'} x="12" y={ROW / 2}>
            {name}
          </text>
          <text class={relation ? 'of relation' : 'of'} x={width - 12} y={ROW / 2}>
            {type}
          </text>
        </g>
      ))}
    </g>
  );
}
