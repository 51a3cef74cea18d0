/** A type whose "}" is missing: the parser complains at the end of the file, or where the next type begins, and neither is the place. */

import { type GraphQLError, Lexer, Source, TokenKind } from 'graphql';
import type { SchemaFault } from './model.ts';

/** What has a body. */
const KEYWORDS = new Set(['type', 'input', 'enum', 'interface']);

/** Undefined where something else is wrong. */
export function unclosed(text: string, { message, positions }: GraphQLError): SchemaFault | undefined {
  const isAtEnd = message.endsWith('found <EOF>.');
  if (!isAtEnd && !/ found Name "\w+"\.$/.test(message)) return undefined;
  const end = positions?.[0] ?? text.length;
  const lexer = new Lexer(new Source(text));
  const open: SchemaFault[] = [];
  let named = '';
  for (
    let token = lexer.advance();
    token.kind !== TokenKind.EOF && token.start < end;
    token = lexer.advance()
  ) {
    const next = lexer.lookahead();
    const isKeyword =
      token.kind === TokenKind.NAME && KEYWORDS.has(token.value) && next.kind === TokenKind.NAME;
    if (isKeyword && open.length === 0) named = `${token.value} ${next.value}`;
    if (token.kind === TokenKind.BRACE_L) {
      const { line, column } = token;
      open.push({ line, column, message: `"${named}" is not closed: a "}" is missing at its end.` });
    } else if (token.kind === TokenKind.BRACE_R) open.pop();
    // A field may be called "type", but is followed by a colon.
    if (isKeyword && next.start === end) return open[0];
  }
  return isAtEnd ? open[0] : undefined;
}
