/** A value that is there at once where nothing has to be waited for, and later otherwise: a promise costs, too. */

export type Soon<T> = T | Promise<T>;

export function then<T, U>(value: Soon<T>, next: (value: T) => Soon<U>): Soon<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}
