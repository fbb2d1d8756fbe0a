/**
 * Text that may hold anything, on one line and harmless on a terminal: what could move the cursor, end the line or is not text is shown
 * escaped. Unlike displayPath it leaves backslashes alone, because paths inside messages are escaped already.
 */
export function oneLine(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]|(?<![\ud800-\udbff])[\udc80-\udcff]/g, escapeCharacter);
}

/** Text of several lines, harmless on a terminal: ends of lines and tabs stay. */
export function harmless(text: string): string {
  const harmful = /(?!\r\n)[\u0000-\u0008\u000b-\u001f\u007f-\u009f]|(?<![\ud800-\udbff])[\udc80-\udcff]/g;
  return text.replace(harmful, escapeCharacter);
}

function escapeCharacter(character: string): string {
  if (character === "\n") return "\\n";
  if (character === "\t") return "\\t";
  const code = character.charCodeAt(0);
  return code >= 0xdc80 ? `\\x${(code - 0xdc00).toString(16)}` : `\\u${code.toString(16).padStart(4, "0")}`;
}
