/** What webhooks are sent of the changes of records, as the API description tells it. */

import { CLOUD_EVENT_TYPE, kinds } from '../../engine/webhooks/events.ts';
import { journaled } from '../../schema/journal.ts';
import type { Model } from '../../schema/model.ts';
import { journalNames } from '../../schema/names.ts';
import { type JsonSchema, scalars } from '../../schema/scalars.ts';
import { CHANGES_TAG } from './changes.ts';
import type { SharedParameters } from './parameters.ts';
import type { Schemas } from './schemas.ts';

const text = { type: 'string' };

const headers = [
  ['webhook-id', 'The `id` of the event: the same with every attempt.'],
  ['webhook-timestamp', 'When it was sent, in seconds since 1970.'],
  [
    'webhook-signature',
    'Signatures as Standard Webhooks has them, `v1,…`; two, with a space between, while a secret is replaced.',
  ],
] as const;

/** What events of all types have in common (CloudEvents 1.0). */
const EVENT = 'ChangeEvent';

export function webhookSchemas(schemas: Schemas): Record<string, JsonSchema> {
  const properties = {
    specversion: { const: '1.0' },
    id: { ...text, description: 'The position of the change.' },
    subject: { ...text, description: 'The key of the record.' },
    time: { ...scalars.get('DateTime')?.jsonSchema },
    datacontenttype: { const: 'application/json' },
  };
  const required = ['specversion', 'id', 'source', 'type', 'subject', 'time', 'data'];
  return { [schemas.name(EVENT)]: { type: 'object', properties, required } };
}

/** By what `duet webhook add --on` calls them. */
export function webhooksOf(
  model: Model,
  schemas: Schemas,
  parameters: SharedParameters,
): Record<string, JsonSchema> {
  return Object.fromEntries(
    journaled(model, 'rest').map((resource) => {
      const { name, singular, path } = resource;
      const properties = {
        source: { const: `/${path}` },
        type: { enum: kinds.map((kind) => `${name}.${kind}`) },
        data: schemas.ref(journalNames.change(resource)),
      };
      const event = { allOf: [schemas.ref(EVENT)], properties, unevaluatedProperties: false };
      const post = {
        summary: `Something has happened to one ${singular}`,
        tags: [CHANGES_TAG],
        security: [],
        parameters: headers.map(([header, description]) =>
          parameters.share(header, { name: header, in: 'header', required: true, description, schema: text }),
        ),
        requestBody: { required: true, content: { [CLOUD_EVENT_TYPE]: { schema: event } } },
        responses: {
          '2XX': { description: 'It was taken.' },
          410: { description: 'The receiver wants no more: the webhook is disabled.' },
          default: { description: 'It is sent again later, and not before `Retry-After`.' },
        },
      };
      return [`${name}.*`, { post }];
    }),
  );
}
