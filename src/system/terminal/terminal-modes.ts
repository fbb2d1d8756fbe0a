/** A program switches a mode of its terminal on (`h`) or off (`l`): `ESC [ ? 1049 h`. */
const SWITCHES = /\x1b\[\?([0-9;]+)([hl])/g;
/** It asks for other codes of keys, and takes that back: `ESC [ > 1 u`, `ESC [ < u`; `ESC [ > 4 ; 1 m`. */
const KEYS = /\x1b\[(?:>([0-9;]{0,9})u|<([0-9]{0,4})u|>4(?:;([0-9]{1,4}))?m)/g;
/** No such sequence is longer, so a cut one is found in the next piece. */
const LONGEST = 64;

/** No mode has a longer number. */
const MODE = /^[0-9]{1,4}$/;
/** No program has as many on, and what one writes must not fill the memory. */
const MOST_MODES = 64;
/** Nor asks for as many codes of keys at once; terminals forget the oldest then. */
const MOST_KEYS = 16;

/** The modes of a terminal that begins with them on: line wrap, and the cursor. */
const ON_AT_FIRST = ["7", "25"];
/** Other screens, which a full-screen program draws on. */
const SCREENS = ["47", "1047", "1049"];

/**
 * The modes that a program has switched its terminal to, by what it wrote. A terminal that joins later is
 * switched to them, and one that leaves is switched back.
 */
export class TerminalModes {
  readonly #on = new Set(ON_AT_FIRST);
  readonly #keys: string[] = [];
  #otherKeys = "";
  #rest = "";

  add(bytes: Buffer): void {
    const text = this.#rest + bytes.toString("latin1");
    const cut = cutSequence(text);
    this.#rest = text.slice(cut);
    for (const [, modes = "", to] of text.slice(0, cut).matchAll(SWITCHES))
      for (const mode of modes.split(";"))
        if (to === "l") this.#on.delete(mode);
        else if (MODE.test(mode) && this.#on.size < MOST_MODES) this.#on.add(mode);
    for (const [, pushed, popped, other = ""] of text.slice(0, cut).matchAll(KEYS)) {
      if (pushed !== undefined) this.#keys.push(pushed);
      else if (popped !== undefined) this.#keys.splice(-Number(popped || 1));
      else this.#otherKeys = other;
      if (this.#keys.length > MOST_KEYS) this.#keys.shift();
    }
  }

  /** Whether the program draws on a screen of its own, which it can draw again. */
  get isFullScreen(): boolean {
    return SCREENS.some((mode) => this.#on.has(mode));
  }

  /** Switches a new terminal to these modes. */
  enter(): string {
    const off = ON_AT_FIRST.filter((mode) => !this.#on.has(mode)).map((mode) => `\x1b[?${mode}l`);
    const on = this.#switched().map((mode) => `\x1b[?${mode}h`);
    const keys = this.#keys.map((flags) => `\x1b[>${flags}u`);
    return [...on, ...off, ...keys, this.#otherKeys === "" ? "" : `\x1b[>4;${this.#otherKeys}m`].join("");
  }

  /** Switches a terminal in these modes back. */
  leave(): string {
    const keys = this.#keys.map(() => "\x1b[<u");
    const on = this.#switched().map((mode) => `\x1b[?${mode}l`);
    const off = ON_AT_FIRST.filter((mode) => !this.#on.has(mode)).map((mode) => `\x1b[?${mode}h`);
    return [...keys, this.#otherKeys === "" ? "" : "\x1b[>4m", ...on, ...off].join("");
  }

  #switched(): readonly string[] {
    return [...this.#on].filter((mode) => !ON_AT_FIRST.includes(mode));
  }
}

/** Where a sequence begins whose end is not there yet; else the end of the text. */
function cutSequence(text: string): number {
  const start = text.lastIndexOf("\x1b");
  const isCut = start > text.length - LONGEST && /^\x1b(?:\[[?<>0-9;]*)?$/.test(text.slice(start));
  return start >= 0 && isCut ? start : text.length;
}
