/** Objects of many properties that share one shape, as those of few do by themselves. */

/**
 * From so many on it is worth it. Where properties are added by names that are looked up, as JSON is read, the runtime gives up on a
 * shape after 128 of them: each object keeps a table of its own then, of 200 properties 15 KB where 3 do, and takes up to ten times as
 * long to make, to copy and to read.
 */
export const MANY_PROPERTIES = 120;

type Wide = Record<string, unknown>;
type Columns = readonly { readonly name: string }[];

/** A literal has one shape for all that it makes, of up to 512 names; not where they stand in brackets, until it is compiled. */
export function madeOf(names: readonly string[]): (values: readonly unknown[]) => Wide {
  return literal(names.map((name, index) => `${JSON.stringify(name)}: values[${index}]`));
}

const makers = new WeakMap<Columns, () => Wide>();

/** An object to which all of these are about to be given values, where they are many. */
export function wideFor(columns: Columns): Wide | undefined {
  if (columns.length <= MANY_PROPERTIES) return undefined;
  let make = makers.get(columns);
  if (!make) {
    make = literal<() => Wide>(columns.map(({ name }) => `${JSON.stringify(name)}: undefined`));
    makers.set(columns, make);
  }
  return make();
}

/** No name is `__proto__`: GraphQL keeps what begins so for itself. */
function literal<Make>(properties: readonly string[]): Make {
  return new Function('values', `return {${properties.join(', ')}}`) as Make;
}
