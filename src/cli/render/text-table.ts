/** A cell: its text and its style. */
export interface Cell {
  readonly text: string;
  readonly style?: (text: string) => string;
}

/** Lines with their columns aligned, two spaces between them and none at the end. */
export function textTable(rows: readonly (readonly (Cell | string)[])[]): readonly string[] {
  const cells = rows.map((row) => row.map((cell) => (typeof cell === "string" ? { text: cell } : cell)));
  const widths: number[] = [];
  for (const row of cells) {
    for (const [column, { text }] of row.entries())
      widths[column] = Math.max(widths[column] ?? 0, textWidth(text));
  }
  return cells.map((row) => renderRow(row, widths));
}

function renderRow(row: readonly Cell[], widths: readonly number[]): string {
  const last = row.findLastIndex(({ text }) => text !== "");
  return row
    .slice(0, last + 1)
    .map(({ text, style }, column) => {
      const padding = column === last ? "" : " ".repeat((widths[column] ?? 0) - textWidth(text));
      return (style?.(text) ?? text) + padding;
    })
    .join("  ");
}

const PLAIN = /^[ -~]*$/;

/** How many columns of a terminal a text takes. */
export function textWidth(text: string): number {
  if (PLAIN.test(text)) return text.length;
  let width = 0;
  for (const character of text) width += isWithoutWidth(character) ? 0 : isWide(character) ? 2 : 1;
  return width;
}

// These two patterns are in functions, so that V8 looks for the characters that they mean only if it has to.

function isWithoutWidth(character: string): boolean {
  return /^[\p{Mark}\p{Format}]$/u.test(character);
}

function isWide(character: string): boolean {
  return /^(?:[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{20000}-\u{3fffd}]|\p{Emoji_Presentation})$/u.test(
    character,
  );
}
