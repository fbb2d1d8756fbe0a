import type { ComponentChildren } from "preact";
import { runsOf } from "../text/shown.tsx";
import type { Side } from "./rows.ts";
import type { Token } from "./syntax.ts";

/**
 * The text of a line, cut where its colour changes or a changed word begins or ends. All of it becomes text
 * nodes; characters that can't be seen are escaped as everywhere.
 */
export function LineText({
  side,
  tokens = [],
}: {
  readonly side: Side;
  readonly tokens: readonly Token[] | undefined;
}): ComponentChildren {
  const { text, words = [], isCutOff } = side;
  const cuts = new Set([text.length]);
  for (const [end] of tokens) cuts.add(Math.min(end, text.length));
  for (const [from, to] of words) for (const cut of [from, to]) cuts.add(Math.min(cut, text.length));
  let from = 0;
  const pieces = [...cuts]
    .filter((cut) => cut > 0)
    .sort((a, b) => a - b)
    .map((to) => {
      const piece = text.slice(from, to);
      const colour = tokens.find(([end]) => end > from)?.[1] ?? "";
      const isWord = words.some(([begin, end]) => begin <= from && to <= end);
      from = to;
      return <Piece text={piece} name={`${colour}${isWord ? " word" : ""}`.trim()} />;
    });
  return (
    <>
      {pieces}
      {isCutOff && <span class="cut-off"> (no end of line)</span>}
    </>
  );
}

function Piece({ text, name }: { readonly text: string; readonly name: string }): ComponentChildren {
  const runs = runsOf(text).map(({ text: run, isEscape }) =>
    isEscape ? <span class="escape">{run}</span> : run,
  );
  return name === "" ? runs : <span class={name}>{runs}</span>;
}
