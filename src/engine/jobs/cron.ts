/** When a schedule runs: the five fields of a cron line, in UTC. */

/** The least and the greatest of each field. */
const fields = [
  ['minute', 0, 59],
  ['hour', 0, 23],
  ['day of the month', 1, 31],
  ['month', 1, 12],
  ['day of the week', 0, 7],
] as const;

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** A 29th of February comes within eight years, and what does not come by then never does. */
const MOST_DAYS = 8 * 366;

/** The first slot after a moment, in milliseconds since 1970. */
export type NextSlot = (after: number) => number;

export type CronReading =
  | { readonly next: NextSlot; readonly fault?: never }
  | { readonly next?: never; readonly fault: string };

export function readCron(text: unknown): CronReading {
  if (typeof text !== 'string') return { fault: 'it must be a text of five fields' };
  const words = text.trim().split(/\s+/);
  if (words.length !== fields.length)
    return { fault: `"${text}" has ${words.length} fields, and must have five: ${names()}` };
  const sets: Set<number>[] = [];
  for (const [index, [name, least, most]] of fields.entries()) {
    const set = readField(words[index] ?? '', least, most);
    if (!set)
      return { fault: `"${words[index]}" is no ${name} (${least} to ${most}, as in *, 5, 1-5, 1,3 or */10)` };
    sets.push(set);
  }
  const [minutes, hours, days, months, weekdays] = sets as [
    Set<number>,
    Set<number>,
    Set<number>,
    Set<number>,
    Set<number>,
  ];
  if (weekdays.has(7)) weekdays.add(0);
  // Where both are restricted, either does: that is how cron has always read them.
  const isEither = words[2] !== '*' && words[4] !== '*';
  const isDay = (day: Date) => {
    if (!months.has(day.getUTCMonth() + 1)) return false;
    const [ofMonth, ofWeek] = [days.has(day.getUTCDate()), weekdays.has(day.getUTCDay())];
    return isEither ? ofMonth || ofWeek : ofMonth && ofWeek;
  };
  const times = [...hours]
    .sort(ascending)
    .flatMap((hour) => [...minutes].sort(ascending).map((minute) => (hour * 60 + minute) * MINUTE_MS));
  const next = (after: number): number => {
    const first = Math.floor(after / DAY_MS) * DAY_MS;
    for (let count = 0; count <= MOST_DAYS; count++) {
      const day = first + count * DAY_MS;
      const time = isDay(new Date(day)) ? times.find((each) => day + each > after) : undefined;
      if (time !== undefined) return day + time;
    }
    return Number.NaN;
  };
  return Number.isNaN(next(Date.UTC(2024, 0, 1)))
    ? { fault: `"${text}" names a day that never comes` }
    : { next };
}

function readField(word: string, least: number, most: number): Set<number> | undefined {
  const found = new Set<number>();
  for (const part of word.split(',')) {
    const match = /^(?:\*|(\d+)(?:-(\d+))?)(?:\/(\d+))?$/.exec(part);
    if (!match) return undefined;
    const [, from, to, step] = match;
    const first = from === undefined ? least : Number(from);
    const last = to !== undefined ? Number(to) : from === undefined || step !== undefined ? most : first;
    const by = step === undefined ? 1 : Number(step);
    if (first < least || last > most || first > last || by < 1) return undefined;
    for (let value = first; value <= last; value += by) found.add(value);
  }
  return found;
}

function names(): string {
  return fields.map(([name]) => name).join(', ');
}

function ascending(one: number, other: number): number {
  return one - other;
}
