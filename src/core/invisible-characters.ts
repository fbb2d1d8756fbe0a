/**
 * Characters that a terminal, an editor or a browser shows as nothing, or that change how others are shown: the order of a line (bidi controls), its end, the
 * position of the cursor. What a person approves must not hold them unseen, so they are shown escaped: `\u202e`, `\u{e0041}`.
 *
 * They are the control and format characters, the separators of lines and paragraphs, and what Unicode calls default ignorable (zero-width characters, tags,
 * variation selectors, fillers). The blank of Braille looks like a space and is none. A joiner or a selector within an emoji stays: such sequences are a list that
 * Unicode gives out, and say nothing but that emoji.
 */
const CLASS = "\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}\\u2800";

const INVISIBLE = new RegExp(`[${CLASS}]`, "u");

/** In text of several lines: line ends, tabs and form feeds are no secret. */
const INVISIBLE_IN_TEXT = new RegExp(`(?!\\r\\n)[[${CLASS}]--[\\n\\t\\f]]`, "v");

/** For comparing names. */
export const INVISIBLE_IN_NAMES: RegExp = new RegExp(`[${CLASS}]`, "gu");

/** Nearly no text holds one, so this is asked first. */
const SUSPECT = new RegExp(`[${CLASS}\\p{Surrogate}]`, "u");

let pieces: RegExp | undefined;
let emojis: RegExp | undefined;

/** Emoji first, so that what belongs to one is not seen alone. Made late: Unicode's list is long. */
function suspects(): RegExp {
  pieces ??= new RegExp(`\\p{RGI_Emoji}|[${CLASS}\\p{Surrogate}]`, "gv");
  return pieces;
}

function emoji(): RegExp {
  emojis ??= /\p{RGI_Emoji}/gv;
  return emojis;
}

/** The text with every such character, and every lone surrogate, replaced. */
export function replaceInvisible(text: string, replacement: (character: string) => string): string {
  if (!SUSPECT.test(text)) return text;
  return text.replace(suspects(), (found) => (isHidden(found) ? replacement(found) : found));
}

/** The text with every such character escaped. A byte that is not UTF-8 (byte-path.ts) is shown as `\xHH`. */
export function showInvisible(text: string): string {
  return replaceInvisible(text, escaped);
}

/** The same for text of several lines: line ends and tabs stay. */
export function showInvisibleInText(text: string): string {
  const show = (line: string) =>
    replaceInvisible(line, (found) => (found === "\n" || found === "\t" ? found : escaped(found)));
  return text.split("\r\n").map(show).join("\r\n");
}

/** Whether a text holds what nobody sees. Line ends, tabs and form feeds are no secret, nor is a byte order mark at its start. */
export function holdsInvisible(text: string): boolean {
  const body = text.startsWith("\ufeff") ? text.slice(1) : text;
  return INVISIBLE_IN_TEXT.test(body) && INVISIBLE_IN_TEXT.test(body.replace(emoji(), ""));
}

/** An emoji is several characters, or one that can be seen. */
function isHidden(found: string): boolean {
  const [first = "", ...more] = found;
  return more.length === 0 && (INVISIBLE.test(first) || isLone(first));
}

function isLone(character: string): boolean {
  const code = character.charCodeAt(0);
  return character.length === 1 && code >= 0xd800 && code <= 0xdfff;
}

function escaped(character: string): string {
  if (character === "\n") return "\\n";
  if (character === "\t") return "\\t";
  const code = character.codePointAt(0) ?? 0;
  if (code >= 0xdc80 && code <= 0xdcff) return `\\x${(code - 0xdc00).toString(16)}`;
  return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, "0")}`;
}
