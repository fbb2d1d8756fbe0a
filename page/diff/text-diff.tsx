import { type ComponentChildren, Fragment } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Change } from "../api/types.ts";
import type { PlanModel } from "../model/plan-model.ts";
import { failedReading } from "../model/review.ts";
import { isSideBySide } from "../model/settings.ts";
import { amount, counted } from "../text/amounts.ts";
import { Shown } from "../text/shown.tsx";
import { Comments } from "../view/comments.tsx";
import { type Colours, coloursOf, endsInCrlf, type FileText, read, shownHunks } from "./file-text.ts";
import { HunkBar, HunkCounts } from "./hunk-bar.tsx";
import { LineText, ShowsCrlf } from "./line-text.tsx";
import { type GapRow, type LineRow, type Opened, type Row, rowsOf, type Side } from "./rows.ts";
import type { Tokens } from "./syntax.ts";

/** How many rows are shown at once; the others are counted, and come with a press of a button. */
const MOST_ROWS = 1500;
/** How many lines a gap opens by at once. */
const MORE = 20;

interface TextDiffProps {
  readonly model: PlanModel;
  readonly change: Change;
}

/** The lines of a text file that change. */
export function TextDiff({ model, change }: TextDiffProps): ComponentChildren {
  const plan = model.id;
  const [text, setText] = useState<FileText | string | undefined>(undefined);
  const [colours, setColours] = useState<Colours>({});
  const [opened, setOpened] = useState<ReadonlyMap<number, Opened>>(new Map());
  const [most, setMost] = useState(MOST_ROWS);
  const version = `${change.before?.digest} ${change.after?.digest}`;
  useEffect(() => {
    const reading = new AbortController();
    setOpened(new Map());
    read(plan, change, reading.signal)
      .then(async (found) => {
        setText(found);
        model.showHunks(shownHunks(found));
        setColours(await coloursOf(change.path, found));
      })
      .catch((thrown: unknown) => {
        if (!reading.signal.aborted) setText(failedReading(thrown));
      });
    return () => {
      reading.abort();
      model.showHunks(undefined);
    };
  }, [plan, change.resource, change.path, version]);
  const isSplit = isSideBySide.value && change.operation === "modified";
  const rows = useMemo(
    () => (typeof text === "object" ? rowsOf(text.hunks, { isSplit, after: text.after, opened }) : []),
    [text, isSplit, opened],
  );
  const chosen = rows.findIndex((row) => row.row === "hunk" && row.hunk === model.hunk.value);
  useEffect(() => {
    if (chosen >= most) setMost(chosen + MOST_ROWS);
  }, [chosen, most]);
  if (text === undefined) return <p class="empty">Reading…</p>;
  if (typeof text === "string")
    return (
      <p class="warning">
        <Shown text={text} />
      </p>
    );
  const ids = text.digest === change.digest ? (model.hunks.value?.ids ?? []) : [];
  const isAllCrlf = endsInCrlf(text);
  const open = (gap: number, more: Partial<Opened>) => {
    const { head, tail } = opened.get(gap) ?? { head: 0, tail: 0 };
    setOpened(new Map(opened).set(gap, { head: head + (more.head ?? 0), tail: tail + (more.tail ?? 0) }));
  };
  const bar = (at: number) =>
    ids.length === 0 ? undefined : <HunkBar {...{ model, change, hunks: text.hunks, at }} />;
  return (
    <section
      class="diff-scroll"
      tabIndex={0}
      aria-label="Changed lines"
      onKeyDown={(event) => stepLine(model, event)}
      onClick={({ target }) => chooseLine(model, target)}
    >
      {isAllCrlf && <p class="more">All lines end with CRLF.</p>}
      <ShowsCrlf.Provider value={!isAllCrlf}>
        {ids.length > 0 && <HunkCounts change={change} ids={ids} />}
        <table class={`diff ${isSplit ? "split" : "unified"}`}>
          <caption class="hidden">Changed lines</caption>
          <colgroup>
            <col class="number" />
            {isSplit && <col />}
            <col class="number" />
            <col />
          </colgroup>
          <tbody>
            {rows.slice(0, most).map((row, at) => (
              <Fragment key={at}>
                <DiffRow
                  {...{
                    row,
                    isSplit,
                    colours,
                    open,
                    bar,
                    canOpen: text.after !== undefined,
                    chosen: model.line.value,
                  }}
                />
                <LineComments {...{ model, change, row, isSplit }} />
              </Fragment>
            ))}
          </tbody>
        </table>
      </ShowsCrlf.Provider>
      {rows.length > most && (
        <p class="more">
          {counted(rows.length - most, "more line")}.{" "}
          <button type="button" onClick={() => setMost(most + MOST_ROWS)}>
            Show the next {amount(Math.min(MOST_ROWS, rows.length - most))}
          </button>
        </p>
      )}
    </section>
  );
}

interface DiffRowProps {
  readonly row: Row;
  readonly isSplit: boolean;
  readonly colours: Colours;
  readonly canOpen: boolean;
  readonly chosen: PlanModel["line"]["value"];
  readonly open: (gap: number, more: Partial<Opened>) => void;
  /** The heading of a hunk. */
  readonly bar: (hunk: number) => ComponentChildren;
}

function DiffRow({ row, isSplit, colours, canOpen, open, bar, chosen }: DiffRowProps): ComponentChildren {
  if (row.row === "hunk")
    return (
      <tr class="hunk" data-hunk={row.hunk}>
        <td colSpan={isSplit ? 4 : 3}>{bar(row.hunk)}</td>
      </tr>
    );
  if (row.row === "gap")
    return (
      <tr class="gap">
        <td colSpan={isSplit ? 4 : 3}>
          <Gap row={row} canOpen={canOpen} open={open} />
        </td>
      </tr>
    );
  const { side, line } = placeIn(row);
  const isChosen = chosen.line === line && chosen.side === side;
  const Line = isSplit ? SplitLine : UnifiedLine;
  return <Line {...{ row, colours, isChosen }} />;
}

type GapProps = Pick<DiffRowProps, "canOpen" | "open"> & { readonly row: GapRow };

function Gap({ row: { gap, hidden }, canOpen, open }: GapProps): ComponentChildren {
  if (hidden === undefined) return <span>The rest of the file is the same.</span>;
  const text = counted(hidden, "line is the same", "lines are the same");
  if (!canOpen) return <span>{text}</span>;
  return (
    <>
      {gap > 0 && hidden > MORE && (
        <button type="button" onClick={() => open(gap, { head: MORE })}>
          Show {MORE} below
        </button>
      )}
      <button type="button" class="all" onClick={() => open(gap, { head: hidden })}>
        {text}
      </button>
      {hidden > MORE && (
        <button type="button" onClick={() => open(gap, { tail: MORE })}>
          Show {MORE} above
        </button>
      )}
    </>
  );
}

/** The line that a row is about: the one after the change, if there is one. */
function placeIn({ before, after }: LineRow): { readonly side: "before" | "after"; readonly line: number } {
  return after === undefined
    ? { side: "before", line: before?.line ?? 0 }
    : { side: "after", line: after.line };
}

interface LineCommentsProps extends TextDiffProps {
  readonly row: Row;
  readonly isSplit: boolean;
}

/** What was said about a line, below it. */
function LineComments({ model, change, row, isSplit }: LineCommentsProps): ComponentChildren {
  if (row.row !== "line") return null;
  const found = model.comments.value.filter(
    ({ resource, path, digest, line, side = "after" }) =>
      resource === change.resource &&
      path === change.path &&
      digest === change.digest &&
      line === row[side]?.line,
  );
  if (found.length === 0) return null;
  return (
    <tr class="said-here">
      <td colSpan={isSplit ? 4 : 3}>
        <Comments model={model} comments={found} />
      </td>
    </tr>
  );
}

function lineOf(row: Element | null): PlanModel["line"]["value"] {
  const [, side, line] = /^(before|after) (\d+)$/.exec(row?.getAttribute("data-line") ?? "") ?? [];
  return side === undefined ? {} : { side: side as "before" | "after", line: Number(line) };
}

/** Chooses the next or an earlier line. */
function stepLine(model: PlanModel, event: KeyboardEvent): void {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (by === undefined || !(event.currentTarget instanceof HTMLElement)) return;
  const rows = [...event.currentTarget.querySelectorAll("tr[data-line]")];
  const now = rows.findIndex((row) => row.classList.contains("chosen"));
  const next = rows[now < 0 ? 0 : Math.min(Math.max(now + by, 0), rows.length - 1)];
  if (next === undefined) return;
  model.line.value = lineOf(next);
  next.scrollIntoView({ block: "nearest" });
  event.preventDefault();
}

/** A click on the number of a line chooses it, and asks for a comment. */
function chooseLine(model: PlanModel, target: EventTarget | null): void {
  if (!(target instanceof Element) || !target.matches("td.number")) return;
  model.line.value = lineOf(target.closest("tr[data-line]"));
  if (model.line.value.line !== undefined) model.askForComment();
}

interface LineProps {
  readonly row: LineRow;
  readonly colours: Colours;
  readonly isChosen: boolean;
}

function named(row: LineRow): string {
  const { side, line } = placeIn(row);
  return `${side} ${line}`;
}

const SIGNS = { same: " ", added: "+", deleted: "−", changed: "~" } as const;

function UnifiedLine({ row, colours, isChosen }: LineProps): ComponentChildren {
  const { before, after, kind } = row;
  const side = after ?? before;
  const tokens = after === undefined ? colours.before : colours.after;
  return (
    <tr class={`${kind} ${isChosen ? "chosen" : ""}`} data-line={named(row)}>
      <td class="number">{before?.line}</td>
      <td class="number">{after?.line}</td>
      {side !== undefined && <TextCell side={side} tokens={tokens} sign={SIGNS[kind]} />}
    </tr>
  );
}

function SplitLine({ row, colours, isChosen }: LineProps): ComponentChildren {
  const { before, after, kind } = row;
  const isSame = kind === "same";
  return (
    <tr class={`${kind} both ${isChosen ? "chosen" : ""}`} data-line={named(row)}>
      <td class={`number ${before === undefined || isSame ? "" : "deleted"}`}>{before?.line}</td>
      {before === undefined ? (
        <td class="none" />
      ) : (
        <TextCell
          side={before}
          tokens={colours.before}
          sign={isSame ? " " : "−"}
          name={isSame ? "" : "deleted"}
        />
      )}
      <td class={`number ${after === undefined || isSame ? "" : "added"}`}>{after?.line}</td>
      {after === undefined ? (
        <td class="none" />
      ) : (
        <TextCell
          side={after}
          tokens={colours.after}
          sign={isSame ? " " : "+"}
          name={isSame ? "" : "added"}
        />
      )}
    </tr>
  );
}

interface TextCellProps {
  readonly side: Side;
  readonly tokens: Tokens | undefined;
  readonly sign: string;
  readonly name?: string;
}

function TextCell({ side, tokens, sign, name = "" }: TextCellProps): ComponentChildren {
  return (
    <td class={`text ${name}`}>
      <span class="sign">{sign}</span>
      <code>
        <LineText side={side} tokens={tokens?.[side.line - 1]} />
      </code>
    </td>
  );
}
