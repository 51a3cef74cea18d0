/** Takes an option that only one command has out of its arguments; what is left are settings. */

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
