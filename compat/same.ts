/** Types that must be the same, for `tsc` to see: what a generator made of the description, and what one would write by hand. */

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** One level of written-out properties, so that intersections and aliases count as what they say. */
type Plain<T> = T extends (infer E)[] ? Plain<E>[] : T extends object ? { [K in keyof T]: Plain<T[K]> } : T;

export function sameType<A, B>(_: Same<Plain<A>, Plain<B>>): void {}
