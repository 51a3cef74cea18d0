/** A file of settings, as service managers read them too: `NAME=value` on each line, `#` before a comment. */

import { readFileSync } from 'node:fs';
import { didYouMean } from '../schema/suggest.ts';
import { settings } from './settings.ts';

/** The texts by the names that they have in the environment; or what is wrong, as a string. */
export function readSettings(file: string): Readonly<Record<string, string>> | string {
  const known = Object.values(settings).map(({ env }) => env);
  const { env: own } = settings.settingsFile;
  const found: Record<string, string> = {};
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    return `cannot read ${file} (${error instanceof Error ? error.message : error}). ${own} names another file`;
  }
  for (const [index, line] of text.split('\n').entries()) {
    if (/^\s*(#|$)/.test(line)) continue;
    const place = `${file}:${index + 1}`;
    const [, name = '', value] = /^\s*(\w+)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    // The line is not repeated: it may hold a secret.
    if (value === undefined) return `${place} is not NAME=value`;
    if (!known.includes(name)) return `${place} unknown setting "${name}".${didYouMean(name, known)}`;
    if (name === own || name in found)
      return `${place} ${name} cannot be set ${name === own ? 'here' : 'twice'}`;
    found[name] = value.replace(/^(["'])(.*)\1$/, '$2');
  }
  return found;
}
