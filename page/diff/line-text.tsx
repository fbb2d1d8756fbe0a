import { type ComponentChildren, createContext } from "preact";
import { useContext, useState } from "preact/hooks";
import { counted } from "../text/amounts.ts";
import { runsOf } from "../text/shown.tsx";
import type { Side } from "./rows.ts";
import type { Token } from "./syntax.ts";

/** Whether lines that end with CRLF say so. Where all of them do, it is said once for all. */
export const ShowsCrlf = createContext(true);

/** How much of a line is shown before the user asks for the rest. */
const LONGEST = 10_000;

interface LineTextProps {
  readonly side: Side;
  readonly tokens: readonly Token[] | undefined;
}

/**
 * The text of a line, cut where its colour changes or a changed word begins or ends. All of it becomes text
 * nodes; characters that can't be seen are framed as everywhere.
 */
export function LineText({ side, tokens = [] }: LineTextProps): ComponentChildren {
  const showsCrlf = useContext(ShowsCrlf);
  const [isWhole, setWhole] = useState(false);
  const { words = [], isCutOff } = side;
  const text = withoutEnd(side);
  const hasCrlf = text.length < side.text.length;
  const end = isWhole ? text.length : Math.min(text.length, LONGEST);
  const cuts = new Set([end]);
  for (const [to] of tokens) cuts.add(Math.min(to, end));
  for (const [from, to] of words) for (const cut of [from, to]) cuts.add(Math.min(cut, end));
  let from = 0;
  const pieces = [...cuts]
    .filter((cut) => cut > 0)
    .sort((a, b) => a - b)
    .map((to) => {
      const piece = text.slice(from, to);
      const colour = tokens.find(([tokenEnd]) => tokenEnd > from)?.[1] ?? "";
      const isWord = words.some(([begin, wordEnd]) => begin <= from && to <= wordEnd);
      from = to;
      return <Piece text={piece} name={`${colour}${isWord ? " word" : ""}`.trim()} />;
    });
  return (
    <>
      {pieces}
      {end < text.length && (
        <button type="button" class="rest-of-line" onClick={() => setWhole(true)}>
          {counted(text.length - end, "more character")}
        </button>
      )}
      {hasCrlf && showsCrlf && (
        <span class={`end-of-line ${words.some(([, to]) => to > text.length) ? "word" : ""}`}>CRLF</span>
      )}
      {isCutOff && <span class="cut-off"> (no end of line)</span>}
    </>
  );
}

/** The text before its end of line. The last line of a file may end with a CR alone, which is no end. */
function withoutEnd({ text, isCutOff }: Side): string {
  return text.endsWith("\r") && !isCutOff ? text.slice(0, -1) : text;
}

function Piece({ text, name }: { readonly text: string; readonly name: string }): ComponentChildren {
  const runs = runsOf(text).map(({ text: run, isEscape }) =>
    isEscape ? <span class="escape">{run}</span> : run,
  );
  return name === "" ? runs : <span class={name}>{runs}</span>;
}
