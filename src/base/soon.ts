/** A value that is there at once where nothing has to be waited for, and later otherwise: a promise costs, too. */

export type Soon<T> = T | Promise<T>;

export function then<T, U>(value: Soon<T>, next: (value: T) => Promise<U>): Promise<U>;
export function then<T, U>(value: Soon<T>, next: (value: T) => Soon<U>): Soon<U>;
export function then<T, U>(value: Soon<T>, next: (value: T) => Soon<U>): Soon<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** What the work leads to, or, when it fails at once or later, what is made of that. */
export function caught<T>(work: () => Soon<T>, failed: (error: unknown) => T): Soon<T> {
  try {
    const value = work();
    return value instanceof Promise ? value.catch(failed) : value;
  } catch (error) {
    return failed(error);
  }
}
