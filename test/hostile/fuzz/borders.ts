/** The borders of what each field admits: values on both sides of them, and whether the server draws them there. */

import { type DescribedOperation, type Description, join } from '../../rest/described.ts';
import { sample } from '../../rest/samples.ts';
import type { Verdict } from './judge.ts';
import type { Shot } from './requests.ts';

/** One field with a value at a border, or just beyond it. */
export interface Probe {
  readonly operation: DescribedOperation;
  readonly field: string;
  readonly value: unknown;
}

/** Refusals of a value by itself, which the description must foretell. */
const OF_BORDERS = new Set(['LENGTH', 'OUT_OF_RANGE', 'PATTERN', 'ENUM']);
const unlikely = ['A', '1', ' ', '-', '\n', 'ß'];

export class Borders {
  readonly #described: Description;
  readonly #probes: readonly Probe[];
  #probed = 0;

  constructor(described: Description) {
    this.#described = described;
    this.#probes = described.operations.flatMap((operation) =>
      Object.entries<any>(this.#fieldsOf(operation)).flatMap(([field, schema]) =>
        this.#values(schema).map((value) => ({ operation, field, value })),
      ),
    );
  }

  /** Each in its turn, so that none is left out; undefined when no field has borders. */
  next(): Probe | undefined {
    return this.#probes[this.#probed++ % this.#probes.length];
  }

  /** Throws where a record was answered that could not be written, or a value was refused that could. */
  check({ body: sent }: Shot, { status, route, body }: Verdict, method: string): void {
    const operation = this.#described.operations.find(
      (each) => each.method === method && each.path === route,
    );
    const fields = operation ? this.#fieldsOf(operation) : {};
    if (!operation || Object.keys(fields).length === 0) return;
    if (status === 200 || status === 201)
      for (const record of [body].flat()) this.checkRecord(operation, record, 'the answer');
    if (status !== 400 || body?.code !== 'VALIDATION_FAILED') return;
    // Those of parameters have none.
    for (const { pointer = '', code, detail = '' } of body.errors) {
      const [, field = '', ...within] = pointer.split('/');
      if (!OF_BORDERS.has(code) || !Object.hasOwn(fields, field)) continue;
      const value = JSON.parse(sent ?? '')[field];
      // What is too large for a number is read as Infinity, of which a schema knows nothing.
      const isCarried = Bun.deepEquals(JSON.parse(JSON.stringify(value)), value);
      // Nor of how large a number is that is written as text.
      const leaf = within.reduce((outer: any, name: string) => outer?.[name], value);
      const isText = code === 'OUT_OF_RANGE' && [leaf].flat().every((each) => typeof each === 'string');
      // Nor of bytes, of which an index has no more than so many.
      const isOfBytes = code === 'LENGTH' && detail.endsWith('bytes, as an index has it');
      const fits = this.#at(operation, field).every((pointer) => this.#described.fits(pointer, value));
      if (isCarried && !isText && !isOfBytes && fits)
        throw new Error(`${pointer} was refused for its ${code}, and is as described`);
    }
  }

  /** What is stored is what could be sent: only the schemas of input have the constraints. */
  checkRecord(operation: DescribedOperation, record: Record<string, unknown>, what: string): void {
    for (const field of Object.keys(this.#fieldsOf(operation)))
      if (Object.hasOwn(record, field))
        for (const pointer of this.#at(operation, field))
          this.#described.fit(pointer, record[field], `${what}, ${field}`);
  }

  /** What a column admits stands with the others; a body adds what it demands of a key. */
  #at({ operation }: DescribedOperation, field: string): string[] {
    const { $ref } = operation.requestBody.content['application/json'].schema;
    const parts = [$ref, ...(this.#described.at($ref).allOf ?? []).map((part: any) => part.$ref)];
    return parts
      .map((part) => join(`${part}/properties`, field))
      .filter((pointer) => this.#described.at(pointer));
  }

  /** What can be written of a record; nothing for operations that write none. */
  #fieldsOf({ operation, path }: DescribedOperation): Record<string, any> {
    const schema = operation.requestBody?.content['application/json'].schema;
    return path !== '/graphql' && schema?.$ref ? this.#described.schema(schema).properties : {};
  }

  /** New records within a new one; those within them are of the same kinds. */
  #nested({ properties, required = [] }: any): unknown[] {
    const sound = required.map((field: string) => [field, sample(this.#described, properties[field])]);
    return Object.entries<any>(properties)
      .filter(([, schema]) => !this.#described.schema(schema.items ?? {}).properties)
      .flatMap(([field, schema]) => this.#values(schema).map((value) => [field, value] as const))
      .map(([field, value]) => ({ ...Object.fromEntries(sound), [field]: value }));
  }

  #values(given: any): unknown[] {
    const schema = this.#described.schema(given);
    const { minLength, maxLength, pattern, minimum, maximum, format } = schema;
    if (schema.readOnly) return [];
    if (schema.anyOf) return schema.anyOf.flatMap((option: any) => this.#values(option));
    if (schema.properties) return this.#nested(schema);
    if (schema.items) return this.#values(schema.items).map((item) => [item]);
    if (schema.enum) return [...schema.enum, 'PINK', schema.enum[0].toLowerCase()];
    const values: unknown[] = [];
    for (const length of [minLength - 1, minLength, maxLength, maxLength + 1])
      if (length >= 0) values.push('a'.repeat(length), ...(pattern ? [] : ['\u{1F600}'.repeat(length)]));
    if (pattern && !format)
      for (const letter of unlikely)
        if (!new RegExp(pattern, 'u').test(letter)) values.push(letter.repeat(minLength ?? 1));
    for (const number of [minimum - 1, minimum, maximum, maximum + 1])
      if (Number.isSafeInteger(Math.floor(number))) values.push(number);
    if (schema.type === 'number') values.push(minimum - 0.01);
    if ([schema.type].flat().includes('string') && format) values.push('a', '1');
    return values;
  }
}
