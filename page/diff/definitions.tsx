import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { ChangedRows } from "../api/types.ts";
import { size } from "../text/amounts.ts";
import { LineText } from "./line-text.tsx";
import { type Tokens, tokensOf } from "./syntax.ts";
import { type Spans, wordsBetween } from "./words.ts";

type Definition = ChangedRows["definitions"][number];

interface DefinitionsProps {
  readonly definitions: readonly Definition[];
}

/** Definitions of a database as SQL, and its numbers: what goes, and what comes in its place. */
export function Definitions({ definitions }: DefinitionsProps): ComponentChildren {
  return definitions.map((definition, at) => (
    <section class="definition" key={at} aria-label={`The ${definition.type}`}>
      <h3>{definition.type}</h3>
      <Sides definition={definition} />
    </section>
  ));
}

const SIGNS = { before: "−", after: "+" } as const;
const NAMES = { before: "deleted", after: "added" } as const;

function Sides({ definition }: { readonly definition: Definition }): ComponentChildren {
  const { before, after } = definition;
  const words =
    before === undefined || after === undefined ? undefined : wordsBetween(before.text, after.text);
  return (["before", "after"] as const).map((side) => {
    const value = definition[side];
    if (value === undefined) return null;
    return (
      <div class={`side ${NAMES[side]}`} key={side}>
        <span class="sign">{SIGNS[side]}</span>
        <Sql text={value.text} words={words?.[side]} />
        {value.size !== undefined && <p class="cut">… cut, {size(value.size)} in all</p>}
      </div>
    );
  });
}

interface SqlProps {
  readonly text: string;
  readonly words: Spans | undefined;
}

/** The lines of a definition in colours. */
function Sql({ text, words = [] }: SqlProps): ComponentChildren {
  const lines = text.split("\n");
  const [tokens, setTokens] = useState<Tokens | undefined>(undefined);
  useEffect(() => {
    let isCurrent = true;
    void tokensOf(lines, "sql").then((found) => {
      if (isCurrent) setTokens(found);
    });
    return () => {
      isCurrent = false;
    };
  }, [text]);
  let from = 0;
  return (
    <pre>
      {lines.map((line, at) => {
        const start = from;
        from += line.length + 1;
        const own = words.map(([begin, end]) => [begin - start, end - start] as const);
        const shown = own
          .filter(([begin, end]) => end > 0 && begin < line.length)
          .map(([begin, end]) => [Math.max(begin, 0), Math.min(end, line.length)] as const);
        return (
          <div key={at}>
            <LineText
              side={{ line: at + 1, text: line, isCutOff: false, words: shown }}
              tokens={tokens?.[at]}
            />
          </div>
        );
      })}
    </pre>
  );
}
