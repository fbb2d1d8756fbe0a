import type { ComponentChildren } from "preact";
import { replaceInvisible, showInvisible } from "../../src/core/values/invisible-characters.ts";

/** Stand around an escaped character. A text can't hold them itself: there they are escaped too. */
const [BEGIN, END] = ["\u0001", "\u0002"];

/** A text with its invisible characters escaped, and marked as such by BEGIN and END. */
function marked(text: string): string {
  return replaceInvisible(text, (found) =>
    found === "\t" ? found : `${BEGIN}${found === "\r" ? "\\r" : showInvisible(found)}${END}`,
  );
}

/** A run of a text: whether it stands for an invisible character. */
export interface Run {
  readonly text: string;
  readonly isEscape: boolean;
}

/** The text as runs, of which some stand for invisible characters. */
export function runsOf(text: string): readonly Run[] {
  const shown = marked(text);
  if (!shown.includes(BEGIN)) return [{ text: shown, isEscape: false }];
  return shown
    .split(BEGIN)
    .flatMap((part, at) => {
      if (at === 0) return [{ text: part, isEscape: false }];
      const [standIn = "", rest = ""] = part.split(END);
      return [
        { text: standIn, isEscape: true },
        { text: rest, isEscape: false },
      ];
    })
    .filter(({ text: run }) => run !== "");
}

/**
 * Any text of others. It is shown as text and nothing else; characters that can't be seen, or that change how
 * others are seen, are escaped and framed, so that they differ from an escape that is written out.
 */
export function Shown({ text }: { readonly text: string }): ComponentChildren {
  return (
    <bdi>
      {runsOf(text).map(({ text: run, isEscape }) => (isEscape ? <span class="escape">{run}</span> : run))}
    </bdi>
  );
}
