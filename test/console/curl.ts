/** Does what a pasted curl command does. */

export function fetchCurl(command: string): Promise<Response> {
  const words = wordsOf(command);
  if (words[0] !== 'curl') throw new Error(`not a command of curl: ${command}`);
  const headers = new Headers();
  let [url, method, body]: [string, string | undefined, string | undefined] = ['', undefined, undefined];
  for (let at = 1; at < words.length; at++) {
    const word = words[at] ?? '';
    const operand = () => words[++at] ?? '';
    if (word === '-g') continue;
    if (word === '-X') method = operand();
    else if (word === '-d') body = operand();
    else if (word === '-H') {
      const [, name = '', value = ''] = /^([^:]+): (.*)$/.exec(operand()) ?? [];
      headers.set(name, value);
    } else if (word.startsWith('http')) url = word;
    else throw new Error(`unknown word "${word}" in ${command}`);
  }
  return fetch(url, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers,
    ...(body !== undefined && { body }),
  });
}

/** As a shell splits it: quotes hold together, a backslash takes the next character as it is. */
function wordsOf(command: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  for (const [, quoted, escaped, plain] of command.matchAll(/'([^']*)'|\\(.)|(.)/gs)) {
    const gap = escaped === '\n' || (plain !== undefined && /\s/.test(plain));
    if (!gap) word = (word ?? '') + (quoted ?? escaped ?? plain);
    else if (word !== undefined) {
      words.push(word);
      word = undefined;
    }
  }
  return word === undefined ? words : [...words, word];
}
