/**
 * Makes the man page of the command line from docs/cli.md, so that both say the same. Knows the Markdown of
 * that page: headings, paragraphs, lists, tables, code, links, bold.
 */
export function manPage(markdown: string, version: string): string {
  const lines = [
    `.TH DRYDOCK 1 "" "Drydock ${version}" "User Commands"`,
    ".nh",
    ".ad l",
    ".SH NAME",
    "drydock \\- change real things in isolation, then land all of it or none of it",
    ".SH SYNOPSIS",
    ".B drydock",
    "[\\fIoptions\\fR] \\fICOMMAND\\fR",
    ".SH DESCRIPTION",
  ];
  // Its title is the name of the page.
  for (const block of blocksOf(markdown.replace(/^# .*\n/, ""))) lines.push(...roffOf(block));
  return `${lines.join("\n")}\n`;
}

type Block =
  | { readonly kind: "heading"; readonly level: number; readonly text: string }
  | { readonly kind: "code"; readonly lines: readonly string[] }
  | { readonly kind: "table"; readonly rows: readonly (readonly string[])[] }
  | { readonly kind: "item"; readonly text: string }
  | { readonly kind: "paragraph"; readonly lines: readonly string[] };

function* blocksOf(markdown: string): Generator<Block> {
  const lines = markdown.split("\n");
  for (let at = 0; at < lines.length; ) {
    const line = lines[at] ?? "";
    const taken = linesOfBlock(lines, at);
    at += taken;
    const block = lines.slice(at - taken, at);
    if (line.startsWith("```")) yield { kind: "code", lines: block.slice(1, -1) };
    else if (line.startsWith("#"))
      yield { kind: "heading", level: line.indexOf(" "), text: line.replace(/^#+ /, "") };
    else if (line.startsWith("|")) yield { kind: "table", rows: rowsOf(block) };
    else if (line.startsWith("- "))
      yield {
        kind: "item",
        text: block
          .map((each) => each.trim())
          .join(" ")
          .slice(2),
      };
    else if (line.trim() !== "") yield { kind: "paragraph", lines: block };
  }
}

/** How many lines belong together from this one on. */
function linesOfBlock(lines: readonly string[], at: number): number {
  const line = lines[at] ?? "";
  if (line.startsWith("```")) return lines.indexOf("```", at + 1) + 1 - at;
  if (line.startsWith("#") || line.trim() === "") return 1;
  const isTable = line.startsWith("|");
  const starts = isTable ? /^(?!\|)/ : /^(?:$|\||#|- |```)/;
  const end = lines.findIndex((next, index) => index > at && starts.test(next));
  return (end < 0 ? lines.length : end) - at;
}

function rowsOf(lines: readonly string[]): readonly (readonly string[])[] {
  return lines
    .filter((line) => !/^\|[-|: ]+\|$/.test(line))
    .map((line) =>
      line
        .slice(1, -1)
        .split(/(?<!\\)\|/)
        .map((cell) => cell.replaceAll("\\|", "|").trim()),
    );
}

function roffOf(block: Block): readonly string[] {
  switch (block.kind) {
    case "heading":
      return [`${block.level === 2 ? ".SH" : ".SS"} ${inline(block.text)}`];
    case "code":
      return [".PP", ".RS 4", ".nf", ...block.lines.map(literal), ".fi", ".RE"];
    case "item":
      return [".IP \\(bu 2", text(block.text)];
    case "table":
      return block.rows
        .slice(1)
        .flatMap(([first = "", ...rest]) => [
          ".TP 7",
          text(first) || "\\ ",
          text(rest.filter((cell) => cell !== "").join(": ")),
        ]);
    case "paragraph":
      // A line that is all code is a synopsis: it stays a line of its own.
      return [
        ".PP",
        ...block.lines.flatMap((line) => (/^`[^`]+`/.test(line) ? [text(line), ".br"] : [text(line)])),
      ];
  }
}

/** A line of text; one that begins with a dot would be a command of roff. */
function text(markdown: string): string {
  const shown = inline(markdown.trim());
  return /^[.']/.test(shown) ? `\\&${shown}` : shown;
}

function inline(markdown: string): string {
  // Code is taken apart first: nothing in it is Markdown.
  return markdown
    .split(/(`[^`]+`)/)
    .map((part) => {
      if (part.startsWith("`") && part.length > 1) return `\\fB${escaped(part.slice(1, -1))}\\fR`;
      const plain = part.replace(/\[([^\]]+)\]\([^)]+\)/g, "$1");
      return escaped(plain)
        .replace(/\*\*([^*]+)\*\*/g, "\\fB$1\\fR")
        .replace(/\*([^*]+)\*/g, "\\fI$1\\fR");
    })
    .join("");
}

function literal(line: string): string {
  const shown = escaped(line);
  return /^[.']/.test(shown) ? `\\&${shown}` : shown;
}

/** Hyphens are those that a user can copy; other characters groff reads as UTF-8. */
function escaped(plain: string): string {
  return plain
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replaceAll("'", "\\(aq")
    .replaceAll("`", "\\(ga");
}
