/** `duet.gen.ts`: what `logic.ts` is made of, its functions and what they are given, and exact decimal numbers. */

import type { Column, Computed, Model, Resource } from '../schema/model.ts';
import { INCREMENTS } from '../schema/names.ts';
import { creatable, defaultOf, incrementable, reserved, updatable } from '../schema/values.ts';
import { ActionTypes } from './actions.ts';
// @ts-expect-error Read as text, so it exports nothing; it is a file of its own to be checked as code.
import decimal from './decimal.ts' with { type: 'text' };
import { interfaceOf, literals, type Property, toldOf, typeOf } from './print.ts';
import { ModelTypes } from './types.ts';

const HEAD = '// Written by `duet types` from the schema file: run it again when that has changed.\n';

export function logicTypes(model: Model): string {
  return new LogicTypes(model).all();
}

function functionsOf({ computed, recomputed }: Resource): readonly Computed[] {
  return [...computed, ...recomputed];
}

/** Whose resources: `tx` and `api.as(caller)` have the rights of a caller, `tx.system` and `api` ask no rule. */
interface Side {
  readonly part: 'Tx' | 'SystemTx' | 'CallerApi' | 'Api';
  readonly isSystem: boolean;
  /** How an answer comes. */
  readonly answer: (type: string) => string;
}

class LogicTypes {
  readonly #model: Model;
  readonly #types: ModelTypes;
  readonly #actions: ActionTypes;

  constructor(model: Model) {
    this.#model = model;
    this.#types = new ModelTypes(model, {
      keys: 'number | string',
      sees: () => true,
      throughReferences: false,
    });
    this.#actions = new ActionTypes(this.#types, 'function');
  }

  all(): string {
    const { resources } = this.#model;
    return [
      HEAD,
      this.#logic(),
      ...resources.flatMap((resource) => this.#functions(resource)),
      this.#common(),
      ...this.#sides().flatMap((side) => [
        ...resources.map((resource) => this.#records(resource, side)),
        this.#resources(side),
      ]),
      this.#actions.all(this.#model),
      this.#types.all(),
      decimal,
    ].join('\n');
  }

  #name(...words: readonly string[]): string {
    return this.#types.names.of(...words);
  }

  #logic(): string {
    const { resources, actions } = this.#model;
    const job = this.#name('Job');
    const root = (name: 'Query' | 'Mutation'): Property => {
      const own = actions.filter((action) => action.root === name);
      const type = own.length > 0 ? this.#name(name, 'Logic') : '{}';
      return { name, type, optional: own.length === 0 };
    };
    const roots = (['Query', 'Mutation'] as const).flatMap((name) => {
      const own = actions.filter((action) => action.root === name);
      const functions = own.map((action): Property => {
        const fields = literals(action.arguments.map((each) => each.name));
        const given = `given: ${this.#name('Inside')}<${fields}>, args: ${this.#actions.arguments(action)}`;
        const type = `(${given}) => ${this.#inside(this.#actions.answer(action))}`;
        return { name: action.name, type, told: toldOf(action) };
      });
      return own.length > 0 ? [interfaceOf(this.#name(name, 'Logic'), functions)] : [];
    });
    const [request, response] = ['globalThis.Request', 'globalThis.Response'];
    const visit = `{ readonly api: ${this.#name('Api')}; readonly caller: ${this.#name('Caller')}; readonly signal: globalThis.AbortSignal; readonly requestId: string }`;
    const logic = interfaceOf(
      this.#name('Logic'),
      [
        ...resources.map(
          (resource): Property => ({
            name: resource.name,
            type: this.#name(resource.name, 'Logic'),
            optional: functionsOf(resource).length === 0,
          }),
        ),
        root('Mutation'),
        root('Query'),
        {
          name: 'schedule',
          type: `{ [name: string]: { readonly cron: string; readonly timeout?: number; readonly run: (given: ${job} & { readonly slot: string }) => globalThis.Promise<unknown> } }`,
          optional: true,
          told: "By names of one's own; cron in UTC, such as '0 3 * * *'.",
        },
        {
          name: 'routes',
          type: `{ [route: \`\${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} /hooks/\${string}\`]: (request: ${request}, given: ${visit}) => ${response} | globalThis.Promise<${response}> }`,
          optional: true,
          told: "What other services call, such as 'POST /hooks/payments'.",
        },
      ],
      { told: 'What `logic.ts` exports: export default { … } satisfies Logic' },
    );
    return [logic, ...roots].join('\n');
  }

  /** What a function inside of the transaction gives back: a generator, or a plain function that needs nothing. */
  #inside(answer: string): string {
    return `${this.#name('Steps')}<${answer}> | ${answer}`;
  }

  #functions(resource: Resource): string[] {
    const { name } = resource;
    const named = (part: string) => this.#name(name, part);
    const fields = literals(resource.columns.map((column) => column.name));
    const inside = `${this.#name('Inside')}<${fields}>`;
    const row = this.#row(resource);
    const before = (given: string, answer: string) =>
      `(given: ${inside} & { ${given} }) => ${this.#inside(answer === '' ? 'void' : `${answer} | void`)}`;
    const record = `readonly record: ${row.name}`;
    const after = (given: string) => {
      const run = `(given: ${this.#name('Job')} & { ${given} }) => globalThis.Promise<unknown>`;
      return `(${run}) | { readonly timeout?: number; readonly run: ${run} }`;
    };
    const hooks = {
      beforeCreate: before(`readonly input: ${named('Creating')}`, named('Created')),
      beforeUpdate: before(`readonly input: ${named('Changing')}; ${record}`, named('Changed')),
      beforeDelete: before(record, ''),
      afterCreate: after(record),
      afterUpdate: after(`${record}; readonly before: ${row.name}`),
      afterDelete: after(record),
    };
    const properties = Object.entries(hooks).map(
      ([hook, type]): Property => ({ name: hook, type, optional: true }),
    );
    return [
      interfaceOf(named('Logic'), [
        ...properties,
        ...functionsOf(resource).map((each) => this.#computed(each)),
      ]),
      ...row.declared,
      ...this.#inputs(resource),
    ];
  }

  #computed({ column, from }: Computed): Property {
    const given = from.map((each) => `readonly ${each.name}: ${this.#types.value(each)}`).join('; ');
    const { list, required } = column;
    const nothing = required ? '' : ' | null | undefined';
    const one = this.#types.value({ ...column, list: false, required: true });
    const value = list ? `readonly (${one})[]` : one;
    return { name: column.name, type: `(values: { ${given} }) => ${value}${nothing}`, told: toldOf(column) };
  }

  /** A record as it is stored, which is all that functions of a write are given of it. */
  #row(resource: Resource): { readonly name: string; readonly declared: readonly string[] } {
    const own = [...resource.columns, resource.version];
    const properties = own.map((column) => ({
      name: column.name,
      type: this.#types.value(column),
      readonly: true,
      told: toldOf(column),
    }));
    const name = this.#name(resource.name, 'Row');
    return { name, declared: [interfaceOf(name, properties, { told: 'As it is stored.' })] };
  }

  /** What functions of a write find in its input, and what they may give back. */
  #inputs(resource: Resource): string[] {
    const { name } = resource;
    const kept = reserved(resource);
    const isThere = (column: Column) =>
      column.required && (column.origin.by === 'client' || defaultOf(column) !== undefined);
    const found = (columns: readonly Column[], optional: boolean): Property[] =>
      columns.map((column) => ({
        name: column.name,
        type: this.#types.value(optional ? column : { ...column, required: isThere(column) }),
        optional,
        readonly: true,
      }));
    const back = (columns: readonly Column[]): Property[] =>
      columns.map((column) => ({
        name: column.name,
        type: this.#types.given(column, true),
        optional: true,
      }));
    const increments = (readonly: boolean): Property[] =>
      incrementable(resource).length > 0
        ? [{ name: INCREMENTS, type: this.#types.named(resource, 'Increments'), optional: true, readonly }]
        : [];
    const [given, changed] = [creatable(resource), updatable(resource)];
    const system =
      kept.length === 0
        ? []
        : (['Input', 'Changes', 'Upsert'] as const).map((part) =>
            interfaceOf(
              this.#name(name, `System${part}`),
              kept.map((column) => ({
                name: column.name,
                type: this.#types.given(column),
                optional: true,
                told: toldOf(column),
              })),
              { base: this.#types.named(resource, part) },
            ),
          );
    return [
      interfaceOf(this.#name(name, 'Creating'), found([...given, ...kept], false)),
      interfaceOf(this.#name(name, 'Created'), back([...given, ...kept])),
      interfaceOf(this.#name(name, 'Changing'), [...found([...changed, ...kept], true), ...increments(true)]),
      interfaceOf(this.#name(name, 'Changed'), [...back([...changed, ...kept]), ...increments(false)]),
      ...system,
    ];
  }

  #common(): string {
    const [caller, inside, job, steps, step, tx, api] = [
      'Caller',
      'Inside',
      'Job',
      'Steps',
      'Step',
      'Tx',
      'Api',
    ].map((name) => this.#name(name));
    return [
      interfaceOf(
        `${caller}`,
        [
          { name: 'subject', type: 'string | undefined', readonly: true },
          { name: 'roles', type: 'readonly string[]', readonly: true },
          { name: 'claims', type: '{ readonly [claim: string]: unknown }', readonly: true },
        ],
        { told: 'Who asks: the `sub` of a token, or the name of an API key; undefined for the anonymous.' },
      ),
      interfaceOf(
        `${inside}<F extends string>`,
        [
          { name: 'tx', type: `${tx}`, readonly: true },
          { name: 'caller', type: `${caller}`, readonly: true },
          {
            name: 'refuse',
            type: '(message: string, field?: F) => Error',
            readonly: true,
            told: 'To be thrown: VALIDATION_FAILED, with the code REFUSED at this field.',
          },
        ],
        { told: 'What functions inside of the transaction are given.' },
      ),
      interfaceOf(
        `${job}`,
        [
          { name: 'api', type: `${api}`, readonly: true },
          { name: 'id', type: 'string', readonly: true, told: 'The same at every attempt.' },
          { name: 'attempt', type: 'number', readonly: true },
          { name: 'signal', type: 'globalThis.AbortSignal', readonly: true, told: 'Aborts at the timeout.' },
        ],
        { told: 'What functions after the commit are given.' },
      ),
      `declare const step: unique symbol;\n`,
      interfaceOf(`${step}`, [{ name: '[step]', type: 'true', readonly: true }], {
        told: 'What is asked of Duet: yield* tx.…, with the star.',
      }),
      typeOf(`${steps}<T>`, `globalThis.Generator<${step}, T, unknown>`),
    ].join('\n');
  }

  #sides(): readonly Side[] {
    const steps = (type: string) => `${this.#name('Steps')}<${type}>`;
    const promise = (type: string) => `globalThis.Promise<${type}>`;
    return [
      { part: 'Tx', isSystem: false, answer: steps },
      { part: 'SystemTx', isSystem: true, answer: steps },
      { part: 'CallerApi', isSystem: false, answer: promise },
      { part: 'Api', isSystem: true, answer: promise },
    ];
  }

  #records(resource: Resource, { part, isSystem, answer }: Side): string {
    const named = (of: Parameters<ModelTypes['named']>[1]) => this.#types.named(resource, of);
    const input = (of: 'Input' | 'Changes' | 'Upsert') =>
      isSystem && reserved(resource).length > 0 ? this.#name(resource.name, `System${of}`) : named(of);
    const [asked, chosen, only, aggregated] = ['Asked', 'Chosen', 'Only', 'Aggregated'].map((name) =>
      this.#name(name),
    );
    const graph = named('Graph');
    const shaped = `<const S extends ${named('Select')} | undefined = undefined, const I extends ${named('Include')} | undefined = undefined>`;
    const found = `${chosen}<${graph}, S, I>`;
    const [record, of] = [resource.name, `${named('Key')} | ${named('Guarded')}`];
    const methods = [
      `get${shaped}(key: ${named('Key')}, options?: ${asked}<${graph}, S, I>): ${answer(`${found} | null`)}`,
      `list${shaped}(query?: ${named('Page')} & ${asked}<${graph}, S, I>): ${answer(`${found}[]`)}`,
      `aggregate<const O extends ${named('Aggregate')}>(options: O & ${only}<${named('Aggregate')}, O>): ${answer(`${aggregated}<${named('Numbers')}, O>[]`)}`,
      `create(input: ${input('Input')}): ${answer(record)}`,
      `update(of: ${of}, changes: ${input('Changes')}): ${answer(record)}`,
      `delete(of: ${of}): ${answer(record)}`,
      `upsert(by: ${named('By')}, input: ${input('Upsert')}): ${answer(record)}`,
    ];
    return `export interface ${this.#name(resource.name, part)} {\n${methods.map((each) => `  ${each};\n`).join('')}}\n`;
  }

  #resources({ part }: Side): string {
    const own = this.#model.resources.map(
      ({ name, plural }): Property => ({ name: plural, type: this.#name(name, part), readonly: true }),
    );
    const as: Property = {
      name: 'as',
      type: `(caller: ${this.#name('Caller')}) => ${this.#name('CallerApi')}`,
      told: 'The same with the rights of a caller.',
    };
    const more: Readonly<Record<Side['part'], readonly Property[]>> = {
      Tx: [
        {
          name: 'system',
          type: this.#name('SystemTx'),
          readonly: true,
          told: 'Without rules, and with what only the server may set.',
        },
      ],
      SystemTx: [{ name: 'system', type: this.#name('SystemTx'), readonly: true }],
      CallerApi: [{ name: 'transact', type: this.#transact('Tx') }, as],
      Api: [{ name: 'transact', type: this.#transact('SystemTx') }, as],
    };
    return interfaceOf(this.#name(part), [...own, ...more[part]]);
  }

  /** Several things in one transaction: `api.transact(function* (tx) { … })`. */
  #transact(tx: 'Tx' | 'SystemTx'): string {
    return `<T>(run: (tx: ${this.#name(tx)}) => ${this.#name('Steps')}<T>) => globalThis.Promise<T>`;
  }
}
