/**
 * Carries out a page of docs/ as a reader would: writes its files, runs its commands in a shell, compares the answers.
 *
 * The word after the language of a code block says what the block is:
 *
 *     ```graphql schema.graphql   a file to write; `duet dev` starts the server again, which is waited for
 *     ```sh                       a command to run; the block below it, if it is one of the following, is its answer
 *     ```sh serve                 a server, in a terminal of its own; the one before it is stopped
 *     ```sh install               what a test cannot do: fetch the program
 *     ```json                     the answer, as a value: `"…"` is any text
 *     ```http                     the answer of `curl -i`: the status, these headers (`…` is any text), and the body as a value
 *     ```text                     the answer, as text: `…` is any text
 */

import { expect } from 'bun:test';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { within } from '../app.ts';
import { freePort } from '../postgres.ts';
import { COMPILER, source } from '../process.ts';

const root = join(import.meta.dir, '../..');
const ANSWERS = ['json', 'http', 'text'];

interface Block {
  readonly language: string;
  readonly word: string;
  readonly text: string;
}

export interface Step extends Block {
  /** The nearest heading above it. */
  readonly heading: string;
  readonly answer?: Block;
}

/** What there is to do on a page, in order. */
export async function stepsOf(page: string): Promise<Step[]> {
  const steps: Step[] = [];
  let heading = '';
  let command: Step | undefined;
  const text = await Bun.file(join(root, page)).text();
  for (const [, title, language = '', word = '', body = ''] of text.matchAll(
    /^#+ (.+)$|^```(\w+)(?: (\S+))?\n([\s\S]*?)^```$/gm,
  )) {
    const block = { language, word, text: body };
    if (title) heading = title;
    else if (command && word === '' && ANSWERS.includes(language))
      steps[steps.length - 1] = { ...command, answer: block };
    else if (language === 'sh' || word !== '') steps.push({ ...block, heading });
    command = title || language !== 'sh' || word !== '' ? undefined : steps.at(-1);
  }
  return steps;
}

/** A folder with a shell whose variables last from one command to the next, and at most one server. */
export class Reader implements AsyncDisposable {
  readonly #home = mkdtempSync(join(tmpdir(), 'duet-docs-'));
  readonly folder = join(this.#home, 'folder');
  readonly #state = join(this.#home, 'state');
  readonly url: string;
  readonly #env: Record<string, string>;
  readonly #replaced: Record<string, string>;
  #server: ReturnType<Reader['shell']> | undefined;
  #started = 0;

  /** What the page calls by one name is replaced by what the test has, such as the address of a database. */
  constructor(env: Record<string, string> = {}, replaced: Record<string, string> = {}) {
    const port = freePort();
    this.url = `http://127.0.0.1:${port}`;
    const bin = join(this.#home, 'bin');
    for (const folder of [bin, this.folder]) mkdirSync(folder);
    writeFileSync(join(bin, 'duet'), `#!/bin/sh\nexec ${source.join(' ')} "$@"\n`, { mode: 0o755 });
    writeFileSync(this.#state, '');
    this.#env = { PATH: `${bin}:${process.env['PATH']}`, PORT: `${port}`, ...COMPILER, ...env };
    this.#replaced = { ...replaced, 'localhost:4000': `127.0.0.1:${port}` };
  }

  #filledIn(text: string): string {
    let filled = text;
    for (const [name, value] of Object.entries(this.#replaced)) filled = filled.replaceAll(name, value);
    return filled;
  }

  shell(text: string) {
    return Bun.spawn(['bash', '-euc', `. '${this.#state}'\n${this.#filledIn(text)}`], {
      cwd: this.folder,
      env: this.#env,
      stdout: 'pipe',
      stderr: 'pipe',
    });
  }

  /** Runs a command to its end and tells what it printed. */
  async run(text: string): Promise<string> {
    const child = this.shell(`${text}\ndeclare -px > '${this.#state}'`);
    const [stdout, stderr, exit] = await Promise.all([
      child.stdout.text(),
      child.stderr.text(),
      child.exited,
    ]);
    if (exit !== 0) throw new Error(`${text}ends with ${exit}:\n${stdout}${stderr}`);
    return stdout;
  }

  async serve(text: string): Promise<void> {
    await this.stop();
    const started = this.#started;
    this.#server = this.shell(`exec ${text}`);
    void this.#follow(this.#server);
    await this.#waitFor(started + 1, text);
  }

  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    server?.kill('SIGTERM');
    await server?.exited;
  }

  /** Writes a file; the server, which watches the schema, is waited for. */
  async write(name: string, text: string): Promise<void> {
    const started = this.#started;
    writeFileSync(join(this.folder, name), this.#filledIn(text));
    if (this.#server && name === 'schema.graphql') await this.#waitFor(started + 1, name);
  }

  async #follow(server: ReturnType<Reader['shell']>): Promise<void> {
    for await (const chunk of server.stdout.pipeThrough(new TextDecoderStream()))
      this.#started += [...chunk.matchAll(/"event":"(?:started|reloaded)"/g)].length;
  }

  async #waitFor(started: number, what: string): Promise<void> {
    for (let tries = 0; tries < 1500 && this.#started < started; tries++) {
      if (this.#server?.exitCode != null) throw new Error(`${what}: ${await this.#server.stderr.text()}`);
      await Bun.sleep(10);
    }
    if (this.#started < started) throw new Error(`${what}: the server has not started`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    rmSync(this.#home, { recursive: true });
  }
}

export async function carryOut(reader: Reader, { language, word, text, answer }: Step): Promise<void> {
  if (language !== 'sh') return reader.write(word, text);
  if (word === 'install') return;
  if (word === 'serve') return reader.serve(text);
  const printed = await within(30_000, reader.run(text));
  if (answer) expectAnswer(answer, printed, text);
  // What a request does that nobody looks at could be an error.
  else expect(text).not.toMatch(/^\s*curl/m);
}

function expectAnswer({ language, text }: Block, printed: string, command: string): void {
  if (language === 'json') expect(JSON.parse(printed), command).toEqual(anyText(JSON.parse(text)));
  else if (language === 'text') expect(withoutEnds(printed), command).toMatch(pattern(withoutEnds(text)));
  else {
    const [head = '', body = ''] = text.split('\n\n');
    const [realHead = '', realBody = ''] = printed.replaceAll('\r', '').split('\n\n');
    for (const line of head.trim().split('\n')) expect(realHead, command).toMatch(pattern(line));
    if (body !== '') expect(JSON.parse(realBody), command).toEqual(anyText(JSON.parse(body)));
  }
}

/** Whole lines of this text, in which `…` is any text. */
const pattern = (text: string) => new RegExp(`^${text.split('…').map(RegExp.escape).join('.*')}$`, 'm');

const withoutEnds = (text: string) => text.replace(/[ \t]+$/gm, '').trim();

function anyText(value: any): any {
  if (value === '…') return expect.any(String);
  if (Array.isArray(value)) return value.map(anyText);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, anyText(each)]));
}
