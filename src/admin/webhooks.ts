/** `/_duet/webhooks`: who is told of changes, as `duet webhook` tells it and does. */

import { DuetError, pointer, validationFailed } from '../base/errors.ts';
import type { Journal } from '../engine/journal/journal.ts';
import {
  addWebhook,
  listWebhooks,
  removeWebhook,
  replayWebhook,
  rotateWebhook,
  testWebhook,
} from '../engine/webhooks/operator.ts';
import { answer, answerWithoutBody } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Model } from '../schema/model.ts';
import type { Input } from './input.ts';

export interface WebhookOptions {
  readonly model: Model;
  readonly journal: Journal;
  /** Milliseconds for a receiver to answer a test. */
  readonly timeout: number;
  /**
   * Whether receivers inside of the network may be named: whoever is at the machine can by the command, and who is not
   * would have the service look around in a network that they cannot reach themselves.
   */
  readonly allowsPrivate: boolean;
}

export async function list({ journal }: WebhookOptions): Promise<Response> {
  return answer(200, JSON.stringify(await listWebhooks(journal)));
}

/** The only answer that ever has the secret. */
export async function add(
  { model, journal, allowsPrivate }: WebhookOptions,
  input: Input,
): Promise<Response> {
  const url = input.value('url');
  const on = input.texts('on');
  const wished = input.value('allowPrivate') ?? false;
  if (url === undefined) input.fault('url', 'REQUIRED', 'url is required');
  else if (typeof url !== 'string') input.fault('url', 'TYPE', 'url must be a text');
  if (typeof wished !== 'boolean') input.fault('allowPrivate', 'TYPE', 'allowPrivate must be true or false');
  else if (wished && !allowsPrivate)
    input.fault(
      'allowPrivate',
      'FORBIDDEN',
      'receivers inside of the network are added where the service runs: `duet webhook add --allow-private`',
    );
  input.end();
  const made = addWebhook(journal, model, { url: String(url), on, allowsPrivate: wished === true });
  return answer(201, JSON.stringify(await inBody(made)));
}

export async function remove({ journal }: WebhookOptions, { key }: Exchange): Promise<Response> {
  await removeWebhook(journal, key);
  return answerWithoutBody(204);
}

export async function rotate(
  { journal }: WebhookOptions,
  input: Input,
  { key }: Exchange,
): Promise<Response> {
  input.end();
  return answer(200, JSON.stringify(await rotateWebhook(journal, key)));
}

/** Sends an event that tells of nothing. */
export async function test(
  { journal, timeout }: WebhookOptions,
  input: Input,
  { key }: Exchange,
): Promise<Response> {
  input.end();
  return answer(200, JSON.stringify(await testWebhook(journal, key, timeout)));
}

export async function replay(
  { journal, model }: WebhookOptions,
  input: Input,
  { key }: Exchange,
): Promise<Response> {
  const after = input.value('after');
  if (typeof after !== 'string') input.fault('after', 'REQUIRED', 'after must be a position of the journal');
  input.end();
  await inBody(replayWebhook(journal, model, key, String(after)));
  return answerWithoutBody(204);
}

/** What is an argument of the command is a member of the body here. */
async function inBody<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof DuetError) || !error.errors) throw error;
    const faults = error.errors.map(({ parameter = '', code, detail }) => ({
      pointer: pointer(parameter),
      code,
      detail,
    }));
    throw validationFailed(faults);
  }
}
