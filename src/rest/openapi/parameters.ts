/** The query parameters of reads, as the API description tells them. */

import { JSON_TYPE } from '../../http/answer.ts';
import { aggregateFunctions } from '../../query/aggregates.ts';
import { isSortable, operators, operatorsOf } from '../../query/operators.ts';
import { parts } from '../../query/parts.ts';
import { MOST_STEPS } from '../../query/referred.ts';
import { isSearchable, LONGEST_SEARCH, MOST_WORDS, RELEVANCE, SEARCH } from '../../query/search.ts';
import type { Column, Field, Resource } from '../../schema/model.ts';
import { withArticle } from '../../schema/names.ts';
import type { JsonSchema } from '../../schema/scalars.ts';
import { upsertKeys } from '../../schema/upserts.ts';
import { includedParameters, isListParameter, listParameters, oneParameters } from '../parameters.ts';
import { visible } from '../shape.ts';
import { documented, filterName, list, operandSchema, typeSchema } from './json-schema.ts';
import { exampleWhere, type Requests } from './requests.ts';
import type { Schemas } from './schemas.ts';

type Parameter = JsonSchema;
type Name = (typeof listParameters)[number];

export interface About {
  readonly resource: Resource;
  readonly schemas: Schemas;
  readonly parameters: SharedParameters;
  /** The longest page. */
  readonly most: number;
  readonly requests: Requests;
}

/** Parameters that several operations have, each described once. */
export class SharedParameters {
  readonly all: Record<string, Parameter>;
  readonly #texts = new Map<string, string>();

  constructor(known: Readonly<Record<string, Parameter>>) {
    this.all = { ...known };
  }

  /** Another one that wants the same name is given the next. */
  share(wanted: string, parameter: Parameter): JsonSchema {
    const text = JSON.stringify(parameter);
    let name = wanted;
    for (let next = 2; this.#texts.has(name) && this.#texts.get(name) !== text; next++)
      name = `${wanted}.${next}`;
    this.#texts.set(name, text);
    this.all[name] = parameter;
    return { $ref: `#/components/parameters/${name}` };
  }
}

export function parametersOfList(about: About): Parameter[] {
  const { resource, schemas } = about;
  const names = listParameters.filter((name) => !(schemas.isPlain ? shaping : shared).has(name));
  return [...named(about, names), ...resource.columns.flatMap((column) => filters(about, column))];
}

/** What lists, reads and writes of records have in common is told beside the operations of a path, where all of them take it. */
const shared: ReadonlySet<Name> = new Set(oneParameters);

/** What makes an answer another one than the plain records. */
const shaping: ReadonlySet<Name> = new Set(['fields', 'include', 'aggregate', 'groupBy', 'having']);

/** Which records, as JSON. */
export function whereParameter(about: About): Parameter {
  const [where = {}] = named(about, ['where']);
  return where;
}

export function parametersOfOne(about: About): Parameter[] {
  return about.schemas.isPlain ? [] : named(about, oneParameters);
}

export function parametersOfCreate({ resource }: About): Parameter[] {
  const keys = [...upsertKeys(resource).keys()];
  if (keys.length === 0) return [];
  const upsert = {
    name: 'upsert',
    in: 'query',
    description: `By what ${withArticle(resource.singular)} is looked up: one that is there is changed.`,
    schema: { enum: keys },
  };
  return [upsert];
}

function named(about: About, names: readonly Name[]): Parameter[] {
  return names.flatMap((name) => {
    const told: Parameter | undefined = describe[name](about);
    if (!told) return [];
    const parameter = { name, in: 'query', ...told };
    const { isPlain } = about.schemas;
    const isOwn = name === 'search' || name === (isPlain ? 'sort' : 'where');
    return isOwn ? [parameter] : [about.parameters.share(name, parameter)];
  });
}

const describe = {
  limit: ({ most }: Pick<About, 'most'>) => ({
    description: 'The length of a page. Without it, the list is whole.',
    schema: { type: 'integer', minimum: 1, maximum: most },
    example: Math.min(50, most),
  }),
  after: () => ({
    description: 'A cursor of the same query: the page begins after it. Take it from the `next` link.',
    schema: { type: 'string' },
  }),
  before: () => ({
    description: 'A cursor of the same query: the page ends before it. Take it from the `prev` link.',
    schema: { type: 'string' },
  }),
  offset: () => ({
    description:
      'How many records to leave out at the beginning, to jump to a page; each of them is counted off. Does not go with `after` and `before`.',
    schema: { type: 'integer', minimum: 0, maximum: 999_999_999 },
    example: 50,
  }),
  sort: ({ resource, schemas }: About) => {
    const relevance = isSearchable(resource)
      ? ` With \`${SEARCH}\`, \`${RELEVANCE}\` has the most relevant first.`
      : '';
    const description = `Fields to sort by, any but lists and JSON; \`-\` is descending.${relevance}`;
    const sorts = schemas.isPlain ? ownSorts(resource) : schemas.ref('Sort');
    return { description, ...words(sorts), example: [`-${resource.key.name}`] };
  },
  where: ({ resource, schemas }: About) => {
    // What is generated from an object would write its parts as parameters of their own.
    if (schemas.isPlain)
      return {
        description: 'A filter as JSON, as the whole description tells it.',
        schema: { type: 'string', contentMediaType: JSON_TYPE },
      };
    const example = exampleWhere(resource);
    const schema = schemas.part(resource, 'Where');
    return { content: { [JSON_TYPE]: { schema, ...(example && { example }) } } };
  },
  search: ({ resource }: About) =>
    isSearchable(resource)
      ? {
          description: `Words to look for in ${namesOf(resource.searched).join(', ')}: all of them must be there, in whichever of these; the last may be the beginning of one. Letter case and accents do not count. ${MOST_WORDS} words at most. For \`${RELEVANCE}\` a word counts ${resource.searched.length} in the first of these fields, and less in each after it.`,
          schema: { type: 'string', minLength: 1, maxLength: LONGEST_SEARCH },
          example: 'text',
        }
      : undefined,
  fields: ({ resource, requests }: About) => ({
    description: `The fields to answer; without it, all. A path asks for fields of a related record${requests.fields}.`,
    ...words(PATH),
    example: [resource.key.name],
  }),
  include: ({ resource, requests }: About) =>
    resource.fields.some((field) => field.kind !== 'column' && visible(field))
      ? {
          description: `Related records to answer along${requests.include}. A path leads further${requests.further}. What an included list is to have is said in brackets${requests.included}: ${includedParameters.map((name) => `\`[${name}]\``).join(', ')}. With \`groupBy\`: the record that a group is of, where records are grouped by a reference.`,
          ...words(PATH),
        }
      : undefined,
  count: () => ({
    description: 'Whether to count all records that match, whatever the page: `X-Total-Count`.',
    schema: { type: 'boolean', default: false },
    example: true,
  }),
  aggregate: ({ requests }: About) => ({
    description: `Numbers about the records in place of the records${requests.sum}. Goes with filters, \`groupBy\`, \`having\`, \`sort\`, \`limit\`, \`offset\`, and \`include\` and \`fields\` of the records that groups are of.`,
    ...words({ type: 'string', pattern: `^(count|(${functionsOfFields.join('|')})\\([A-Za-z0-9_]+\\))$` }),
    example: ['count'],
  }),
  groupBy: ({ requests }: About) => ({
    description: `One row of numbers for all records that are alike in these fields, or in these parts of a time${requests.part}.`,
    ...words({ type: 'string', pattern: `^([A-Za-z0-9_]+|(${parts.join('|')})\\([A-Za-z0-9_]+\\))$` }),
  }),
  having: ({ schemas, requests }: About) => ({
    description: `Which groups, by what is computed of them, as JSON. One condition can be a parameter of its own too${requests.having}; all of them must match.`,
    content: { [JSON_TYPE]: { schema: schemas.ref('Having') } },
  }),
} satisfies Record<Name, (about: About) => Parameter | undefined>;

const PATH = { type: 'string', pattern: '^[A-Za-z0-9_]+(\\.[A-Za-z0-9_]+)*$' };

const functionsOfFields = aggregateFunctions.filter((name) => name !== 'count');

/** `title`, `-title`. */
function ownSorts(resource: Resource): JsonSchema {
  const relevance = isSearchable(resource) ? [RELEVANCE] : [];
  const names = [...namesOf(resource.columns.filter(isSortable)), ...relevance];
  return { enum: names.flatMap((name) => [name, `-${name}`]) };
}

/** `-title`, `author.name`, `-sum(total)`: the same for all types. */
export function sortSchema({ sort, ranked }: Requests): JsonSchema {
  return {
    description: `A field, or a path through references${sort}. Of groups, what is computed of them, and what they have in common${ranked}.`,
    type: 'string',
    pattern: `^-?([A-Za-z0-9_]+(\\.[A-Za-z0-9_]+){0,${MOST_STEPS}}|[A-Za-z]+\\([A-Za-z0-9_]+\\))$`,
  };
}

/** `pages=412`, `pages[gte]=100`. */
function filters({ resource, schemas, parameters }: About, column: Column): Parameter[] {
  const { name } = column;
  const allowed = operatorsOf(column);
  const { deprecated } = documented(column);
  const filter = schemas.ref(filterName(column));
  const told = deprecated === true ? { deprecated } : {};
  if (isListParameter(name, resource))
    return allowed.map((operator) => ({
      name: `${name}[${operator}]`,
      in: 'query',
      description: `\`${name}\`: ${operators[operator].doc}.`,
      ...told,
      ...(operators[operator].operand === 'list'
        ? words(typeSchema(column), 0)
        : { schema: operandSchema(column, operator) }),
    }));
  const schema = allowed.includes('eq') ? { anyOf: [typeSchema(column), filter] } : filter;
  return [parameters.share(name, { ...inBrackets(name, schema), ...told })];
}

/** An object whose properties are written `name[property]=value`; a plain value is written without brackets. */
function inBrackets(name: string, schema: JsonSchema): Parameter {
  return { name, in: 'query', style: 'deepObject', explode: true, schema };
}

/** Separated by commas. */
function words(items: JsonSchema, minItems = 1): Parameter {
  return { style: 'form', explode: false, schema: { ...list(items), ...(minItems > 0 && { minItems }) } };
}

function namesOf(fields: readonly Field[]): string[] {
  return fields.map(({ name }) => name);
}
