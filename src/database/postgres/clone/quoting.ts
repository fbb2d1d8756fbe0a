/** A name as SQL has it, whatever is in it. */
export function quotedName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** A text as SQL has it. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
