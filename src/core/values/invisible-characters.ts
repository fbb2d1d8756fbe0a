/**
 * Characters that a terminal, an editor or a browser shows as nothing, or that change how others are shown:
 * the order of a line (bidi controls), its end, the position of the cursor. What a person approves must not
 * hold them unseen, so they are shown escaped: `\u202e`, `\u{e0041}`.
 *
 * They are the control and format characters, the separators of lines and paragraphs, and what Unicode calls
 * default ignorable (zero-width characters, tags, variation selectors, fillers). The blank of Braille looks
 * like a space and is none. A joiner or a selector within an emoji stays: such sequences are a list that
 * Unicode gives out, and say nothing but that emoji.
 */
const CLASS = "\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}\\u2800";

/** Printable ASCII, as nearly every text is; so this is asked first. */
const PLAIN = /^[\x20-\x7e]*$/;

/** Each is made when it is first needed: Unicode's lists are long, and most commands need none of them. */
const patterns = {
  invisible: made(() => new RegExp(`[${CLASS}]`, "u")),
  /** In text of several lines: line ends, tabs and form feeds are no secret. */
  invisibleInText: made(() => new RegExp(`(?!\\r\\n)[[${CLASS}]--[\\n\\t\\f]]`, "v")),
  invisibleInNames: made(() => new RegExp(`[${CLASS}]`, "gu")),
  suspect: made(() => new RegExp(`[${CLASS}\\p{Surrogate}]`, "u")),
  /** Emoji first, so that what belongs to one is not seen alone. */
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

/** A name without such characters, for comparing names. */
export function withoutInvisible(name: string): string {
  return name.replace(patterns.invisibleInNames(), "");
}

/** The text with every such character, and every lone surrogate, replaced. */
export function replaceInvisible(text: string, replacement: (character: string) => string): string {
  if (PLAIN.test(text) || !patterns.suspect().test(text)) return text;
  return text.replace(patterns.suspects(), (found) => (isHidden(found) ? replacement(found) : found));
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

/**
 * Whether a text holds what nobody sees. Line ends, tabs and form feeds are no secret, nor is a byte order
 * mark at its start.
 */
export function holdsInvisible(text: string): boolean {
  const body = text.startsWith("\ufeff") ? text.slice(1) : text;
  const invisible = patterns.invisibleInText();
  return invisible.test(body) && invisible.test(body.replace(patterns.emojis(), ""));
}

/** An emoji is several characters, or one that can be seen. */
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
