/** Quotes a text as one word of a shell script. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
