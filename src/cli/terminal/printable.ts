import {
  replaceInvisible,
  showInvisible,
  showInvisibleInText,
} from "../../core/values/invisible-characters.ts";

/**
 * Any text, on one line and harmless on a terminal: characters that could move the cursor, end the line,
 * reorder it or hide are escaped. Unlike displayPath it leaves backslashes alone, because paths inside
 * messages are escaped already.
 */
export function oneLine(text: string): string {
  return showInvisible(text);
}

/** Text of several lines, harmless on a terminal: ends of lines and tabs stay. */
export function harmless(text: string): string {
  return showInvisibleInText(text);
}

const STYLES = /(\u001b\[\d{1,3}m)/;

/**
 * Finished lines, in which only our own colour sequences stay unescaped. The last guard, for text that a
 * renderer forgot to escape.
 */
export function withStyles(text: string): string {
  const pieces = text.split(STYLES);
  return pieces.map((piece, at) => (at % 2 === 1 ? piece : showInvisibleInText(piece))).join("");
}

/** Equivalent JSON without hidden characters: strings can write every character as `\uXXXX`. */
export function visibleJson(json: string): string {
  return replaceInvisible(json, (found) => (found === "\n" ? found : found.split("").map(unit).join("")));
}

function unit(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
