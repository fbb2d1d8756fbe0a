/** A name as SQL has it, whatever is in it. */
export function quotedName(name: string): string {
  return `\`${name.replaceAll("`", "``")}\``;
}

/** A text as SQL has it, whatever the modes and the character set of the session. */
export function literal(text: string): string {
  return `_utf8mb4 x'${Buffer.from(text).toString("hex")}'`;
}
