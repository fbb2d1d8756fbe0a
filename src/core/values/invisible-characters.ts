/**
 * Characters that a terminal, an editor or a browser does not show, or that change how others are shown: the
 * order of a line (bidi controls), its end, the position of the cursor. A text that a person approves must
 * not hide them, so they are shown escaped: `\u202e`, `\u{e0041}`.
 *
 * They are the control and format characters, the separators of lines and paragraphs, and what Unicode calls
 * default ignorable (zero-width characters, tags, variation selectors, fillers). The Braille blank looks like
 * a space but is not one. A joiner or a selector within an emoji stays: Unicode lists these sequences, and
 * they mean nothing but that emoji.
 */
const CLASS = "\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}\\u2800";

/** Printable ASCII. Most texts are, so this is tested first. */
const PLAIN = /^[\x20-\x7e]*$/;

/** Each is made when it is first needed: Unicode's lists are long, and most commands need none of them. */
const patterns = {
  invisible: made(() => new RegExp(`[${CLASS}]`, "u")),
  /** For text of several lines, where line ends, tabs and form feeds are visible. */
  invisibleInText: made(() => new RegExp(`(?!\\r\\n)[[${CLASS}]--[\\n\\t\\f]]`, "v")),
  invisibleInNames: made(() => new RegExp(`[${CLASS}]`, "gu")),
  suspect: made(() => new RegExp(`[${CLASS}\\p{Surrogate}]`, "u")),
  /** Emoji come first, so that their parts do not match alone. */
  suspects: made(() => new RegExp(`\\p{RGI_Emoji}|[${CLASS}\\p{Surrogate}]`, "gv")),
  emojis: made(() => /\p{RGI_Emoji}/gv),
};

function made(make: () => RegExp): () => RegExp {
  let pattern: RegExp | undefined;
  return () => {
    pattern ??= make();
    return pattern;
  };
}

/** A name without invisible characters, for comparing names. */
export function withoutInvisible(name: string): string {
  return name.replace(patterns.invisibleInNames(), "");
}

/** Replaces every invisible character and every lone surrogate. */
export function replaceInvisible(text: string, replacement: (character: string) => string): string {
  if (PLAIN.test(text) || !patterns.suspect().test(text)) return text;
  return text.replace(patterns.suspects(), (found) => (isHidden(found) ? replacement(found) : found));
}

/** Escapes every invisible character. A byte that is not UTF-8 (byte-path.ts) becomes `\xHH`. */
export function showInvisible(text: string): string {
  return replaceInvisible(text, escaped);
}

/** Escapes invisible characters in text of several lines: line ends and tabs stay. */
export function showInvisibleInText(text: string): string {
  const show = (line: string) =>
    replaceInvisible(line, (found) => (found === "\n" || found === "\t" ? found : escaped(found)));
  return text.split("\r\n").map(show).join("\r\n");
}

/**
 * Whether a text holds invisible characters. Line ends, tabs and form feeds do not count, nor does a byte
 * order mark at its start.
 */
export function holdsInvisible(text: string): boolean {
  const body = text.startsWith("\ufeff") ? text.slice(1) : text;
  const invisible = patterns.invisibleInText();
  return invisible.test(body) && invisible.test(body.replace(patterns.emojis(), ""));
}

/** A match is hidden unless it is an emoji: several characters, or one that is visible. */
function isHidden(found: string): boolean {
  const [first = "", ...more] = found;
  return more.length === 0 && (patterns.invisible().test(first) || isLone(first));
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
