/** Parameters as literals within the text of a statement, for connections on which nothing can be prepared. */

/** What is quoted is left alone, whatever it looks like: names of columns are anybody's choice. */
const PARTS = /"(?:[^"]|"")*"|'(?:[^']|'')*'|\$(\d+)/g;

export function withValues(sql: string, parameters: readonly unknown[]): string {
  if (parameters.length === 0) return sql;
  return sql.replace(PARTS, (part, position?: string) =>
    position === undefined ? part : literalOf(parameters[Number(position) - 1]),
  );
}

function literalOf(value: unknown): string {
  if (value === null || value === undefined) return 'NULL';
  const text = String(value);
  // It would end the message, and the rest of the statement with it.
  if (text.includes('\0')) throw new Error('a NUL character cannot be sent to PostgreSQL');
  const quoted = `'${text.replaceAll("'", "''")}'`;
  // In this form a backslash means the same whatever standard_conforming_strings says.
  return text.includes('\\') ? ` E${quoted.replaceAll('\\', '\\\\')}` : quoted;
}
