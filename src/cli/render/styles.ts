/** The styles of text on a terminal. */
export interface Styles {
  bold(text: string): string;
  dim(text: string): string;
  /** Background and foreground exchanged. */
  reversed(text: string): string;
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
  cyan(text: string): string;
}

const plain = (text: string): string => text;

/** Plain text. */
export const NO_STYLES: Styles = {
  bold: plain,
  dim: plain,
  reversed: plain,
  red: plain,
  green: plain,
  yellow: plain,
  cyan: plain,
};

/** Escape sequences that every terminal knows. */
export const ANSI_STYLES: Styles = {
  bold: ansi(1, 22),
  dim: ansi(2, 22),
  reversed: ansi(7, 27),
  red: ansi(31, 39),
  green: ansi(32, 39),
  yellow: ansi(33, 39),
  cyan: ansi(36, 39),
};

function ansi(on: number, off: number): (text: string) => string {
  return (text) => (text === "" ? text : `\u001b[${on}m${text}\u001b[${off}m`);
}
