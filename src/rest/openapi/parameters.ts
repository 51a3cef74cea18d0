/** The query parameters of reads, as the API description tells them. */

import { aggregateFits, aggregateFunctions } from '../../query/aggregates.ts';
import { isSortable, operators, operatorsOf } from '../../query/operators.ts';
import { groupable, spelt, timeParts } from '../../query/parts.ts';
import { MOST_STEPS } from '../../query/referred.ts';
import { groupsOf } from '../../query/results.ts';
import { isSearchable, LONGEST_SEARCH, MOST_WORDS, RELEVANCE, SEARCH } from '../../query/search.ts';
import type { Column, Field, Resource } from '../../schema/model.ts';
import { withArticle } from '../../schema/names.ts';
import type { JsonSchema } from '../../schema/scalars.ts';
import { upsertKeys } from '../../schema/upserts.ts';
import { storedColumns } from '../../schema/values.ts';
import { includedParameters, isListParameter, listParameters, oneParameters } from '../query.ts';
import { visible } from '../shape.ts';
import { documented, list, operandSchema, typeSchema } from './json-schema.ts';
import { type Schemas, shownFields } from './schemas.ts';

type Parameter = JsonSchema;
type Name = (typeof listParameters)[number];

interface About {
  readonly resource: Resource;
  readonly schemas: Schemas;
  /** The longest page. */
  readonly most: number;
  /** Whether numbers about groups can be asked for too. */
  readonly groups?: true;
}

export function parametersOfList(wanted: About): Parameter[] {
  const about = { ...wanted, groups: true } as const;
  const { resource } = about;
  const through = resource.references.flatMap(({ name, target }) =>
    target.rest
      ? target.columns.flatMap((column) => filters(resource, column, `${name}.${column.name}`))
      : [],
  );
  return [
    ...named(about, listParameters),
    ...ofIncluded(about),
    ...resource.columns.flatMap((column) => filters(resource, column, column.name)),
    ...through,
  ];
}

export function parametersOfOne(about: About): Parameter[] {
  return [...named(about, oneParameters), ...ofIncluded(about)];
}

export function parametersOfWrite(about: About, mayUpsert: boolean): Parameter[] {
  const keys = mayUpsert ? [...upsertKeys(about.resource).keys()] : [];
  const upsert = {
    name: 'upsert',
    in: 'query',
    description: `By what ${withArticle(about.resource.singular)} is looked up: one that is there is changed, and then the body needs no more than that and what changes.`,
    schema: { enum: keys },
  };
  return [...parametersOfOne(about), ...(keys.length > 0 ? [upsert] : [])];
}

function named(about: About, names: readonly Name[]): Parameter[] {
  return names.flatMap((name) => {
    const told = describe[name](about);
    return told ? [{ name, in: 'query', ...told }] : [];
  });
}

/** What can be said of an included list: `posts[limit]`. Deeper ones go by their path, `posts.comments[limit]`. */
function ofIncluded({ resource, schemas, most }: About): Parameter[] {
  return shownFields(resource).flatMap((field) => {
    if (field.kind === 'column' || field.kind === 'reference') return [];
    return named({ resource: field.target, schemas, most }, includedParameters).map((parameter) => ({
      ...parameter,
      name: `${field.name}[${parameter['name']}]`,
      description: `Of the list \`${field.name}\`, which \`include\` must name. ${parameter['description']}`,
    }));
  });
}

const describe: Record<Name, (about: About) => Parameter | undefined> = {
  limit: ({ most }) => ({
    description: 'The length of a page. Without it, the list is whole.',
    schema: { type: 'integer', minimum: 1, maximum: most },
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
  }),
  sort: ({ resource, groups }) => {
    const relevance = isSearchable(resource)
      ? ` With \`${SEARCH}\`, \`${RELEVANCE}\` has the most relevant first: a word counts ${resource.searched.length} in ${resource.searched[0]?.name}, and less in each field after it.`
      : '';
    const told = `Fields to sort by, a descending one with \`-\` before it. A path leads through references: \`author.name\`. The key decides what is left.${relevance}`;
    if (!groups) return { description: told, ...words(sorts(resource)) };
    const ofGroups = signed([...timeParts(resource).map(spelt), ...resultsOf(resource)]);
    return {
      description: `${told} Groups are sorted by what is computed of them and by what they have in common, which decides what is left.`,
      ...words({ anyOf: [sorts(resource), ofGroups] }),
    };
  },
  where: ({ resource, schemas }) => ({
    description: 'A filter as JSON, for what the other parameters cannot say; all of them must match.',
    content: { 'application/json': { schema: schemas.part(resource, 'Where') } },
  }),
  search: ({ resource }) =>
    isSearchable(resource)
      ? {
          description: `Words to look for in ${namesOf(resource.searched).join(', ')}: all of them must be there, in whichever of these; the last may be the beginning of one. Letter case and accents do not count. ${MOST_WORDS} words at most.`,
          schema: { type: 'string', minLength: 1, maxLength: LONGEST_SEARCH },
        }
      : undefined,
  fields: ({ resource }) => ({
    description: 'The fields to answer; without it, all. A path asks for fields of a related record.',
    ...words(orPath(namesOf(storedColumns(resource)), relationsOf(resource))),
  }),
  include: ({ resource }) => {
    const relations = relationsOf(resource);
    if (relations.length === 0) return undefined;
    return {
      description:
        'Related records to answer along. A path leads further: `posts.comments`. With `groupBy`, the records that groups are of, by references whose keys it names.',
      ...words(orPath(relations, relations)),
    };
  },
  count: () => ({
    description: 'Whether to count all records that match, whatever the page: `X-Total-Count`.',
    schema: { type: 'boolean', default: false },
  }),
  aggregate: ({ resource }) => ({
    description:
      'Numbers about the records in place of the records. Goes with filters, `groupBy`, `having`, `sort`, `limit`, `offset`, and `include` and `fields` of the records that groups are of.',
    ...words({
      enum: aggregateFunctions.flatMap((name) => {
        if (name === 'count') return [name];
        return namesOf(resource.columns.filter((column) => aggregateFits(name, column))).map(
          (field) => `${name}(${field})`,
        );
      }),
    }),
  }),
  groupBy: ({ resource }) => ({
    description:
      'One row of numbers for all records that are alike in these fields, or in these parts of a time.',
    ...words({ enum: groupable(resource).map(spelt) }),
  }),
  having: ({ resource, schemas }) => ({
    description:
      'Which groups, by what is computed of them, as JSON. One condition can be a parameter of its own too: `having[count][gt]=1`; all of them must match.',
    content: { 'application/json': { schema: schemas.part(resource, 'Having') } },
  }),
};

const signed = (names: readonly string[]) => ({ enum: names.flatMap((name) => [name, `-${name}`]) });

/** `title`, `-title`, `author.name`. */
function sorts(resource: Resource): JsonSchema {
  const relevance = isSearchable(resource) ? [RELEVANCE] : [];
  const own = signed([...namesOf(resource.columns.filter(isSortable)), ...relevance]);
  const references = namesOf(resource.references.filter(visible));
  if (references.length === 0) return own;
  const path = `^-?(${references.join('|')})(\\.[A-Za-z0-9_]+){1,${MOST_STEPS}}$`;
  return { anyOf: [own, { type: 'string', pattern: path }] };
}

/** `count`, `sum(total)`. */
function resultsOf(resource: Resource): string[] {
  return [...groupsOf(resource).fieldByName.values()].flatMap((field) =>
    field.kind === 'column' ? [field.name] : namesOf([...field.fieldByName.values()]),
  );
}

/** `pages=412`, `pages[gte]=100`. */
function filters(resource: Resource, column: Column, path: string): Parameter[] {
  const allowed = operatorsOf(column);
  const { deprecated } = documented(column);
  const told = (operator: keyof typeof operators): Parameter => ({
    in: 'query',
    description: `\`${path}\`: ${operators[operator].doc}.`,
    ...(deprecated === true && { deprecated }),
    ...(operators[operator].operand === 'list'
      ? words(typeSchema(column), 0)
      : { schema: operandSchema(column, operator) }),
  });
  const plain =
    allowed.includes('eq') && !isListParameter(path, resource) ? [{ name: path, ...told('eq') }] : [];
  return [...plain, ...allowed.map((operator) => ({ name: `${path}[${operator}]`, ...told(operator) }))];
}

/** Separated by commas. */
function words(items: JsonSchema, minItems = 1): Parameter {
  return { style: 'form', explode: false, schema: { ...list(items), ...(minItems > 0 && { minItems }) } };
}

function orPath(names: readonly string[], relations: readonly string[]): JsonSchema {
  const plain = { enum: names };
  if (relations.length === 0) return plain;
  return { anyOf: [plain, { type: 'string', pattern: `^(${relations.join('|')})(\\.[A-Za-z0-9_]+)+$` }] };
}

function relationsOf(resource: Resource): string[] {
  return shownFields(resource).flatMap(({ kind, name }) => (kind === 'column' ? [] : [name]));
}

function namesOf(fields: readonly Field[]): string[] {
  return fields.map(({ name }) => name);
}
