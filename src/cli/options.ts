/** Takes what only one command has out of its arguments; what is left are settings. */

export function takeOption(option: string, args: readonly string[]): { own: string[]; rest: string[] } {
  const own: string[] = [];
  const rest: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? '';
    if (word === option) own.push(args[++at] ?? '');
    else if (word.startsWith(`${option}=`)) own.push(word.slice(option.length + 1));
    else rest.push(word);
  }
  return { own, rest };
}

/** The words before the first option, and a command's own options: `--on=VALUE` for those that have one. */
export function splitWords(
  args: readonly string[],
  valued: readonly string[],
  flags: readonly string[] = [],
): { own: string[]; rest: string[] } {
  const first = args.findIndex((word) => word.startsWith('-'));
  const leading = first === -1 ? args.length : first;
  const own = args.slice(0, leading);
  const rest: string[] = [];
  for (let at = leading; at < args.length; at++) {
    const word = args[at] ?? '';
    const [flag = '', ...value] = word.split('=');
    if (flags.includes(word)) own.push(word);
    else if (!valued.includes(flag)) rest.push(word);
    else own.push(value.length > 0 ? word : `${flag}=${args[++at] ?? ''}`);
  }
  return { own, rest };
}
