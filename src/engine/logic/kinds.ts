/** What a function of the user is, told by its syntax. */

export function kindOf(given: unknown): 'generator' | 'plain' | 'async' | 'other' {
  if (typeof given !== 'function') return 'other';
  switch (Object.prototype.toString.call(given)) {
    case '[object GeneratorFunction]':
      return 'generator';
    case '[object AsyncFunction]':
    case '[object AsyncGeneratorFunction]':
      return 'async';
    default:
      return 'plain';
  }
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
