/** A word of a shell script that stands for exactly this text. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
