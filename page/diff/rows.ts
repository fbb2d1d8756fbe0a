import type { Hunk, HunkLine } from "./patch.ts";
import { type Spans, wordsBetween } from "./words.ts";

/** One line of one side. */
export interface Side {
  readonly line: number;
  readonly text: string;
  readonly isCutOff: boolean;
  /** The parts that differ from the line beside it. */
  readonly words?: Spans;
}

/** A line of both sides: of one that changed, or of both where nothing did. */
export interface LineRow {
  readonly row: "line";
  readonly kind: "same" | "added" | "deleted" | "changed";
  readonly before?: Side;
  readonly after?: Side;
  /** The hunk that it belongs to; lines that were shown in addition belong to none. */
  readonly hunk?: number;
}

/** Lines between hunks, which are not shown. */
export interface GapRow {
  readonly row: "gap";
  /** The gap is before this hunk; the last one is behind all. */
  readonly gap: number;
  /** How many lines it hides; undefined behind the last hunk, as long as the file is unknown. */
  readonly hidden: number | undefined;
}

export interface HunkRow {
  readonly row: "hunk";
  readonly hunk: number;
}

export type Row = LineRow | GapRow | HunkRow;

/** How many lines of a gap are shown: from its beginning, and from its end. */
export interface Opened {
  readonly head: number;
  readonly tail: number;
}

export interface RowsOptions {
  readonly isSplit: boolean;
  /** The lines of the file after the change, if they are known. */
  readonly after: readonly string[] | undefined;
  readonly opened: ReadonlyMap<number, Opened>;
}

/** The rows of a diff: its hunks, and what is shown between them. */
export function rowsOf(hunks: readonly Hunk[], options: RowsOptions): readonly Row[] {
  const rows: Row[] = [];
  let [before, after] = [1, 1];
  hunks.forEach((hunk, at) => {
    rows.push(...gapRows({ gap: at, before, after, lines: hunk.after - after }, options));
    rows.push({ row: "hunk", hunk: at });
    rows.push(...(options.isSplit ? splitRows : unifiedRows)(hunk, at));
    before = hunk.before + hunk.lines.filter(({ kind }) => kind !== "added").length;
    after = hunk.after + hunk.lines.filter(({ kind }) => kind !== "deleted").length;
  });
  const lines = options.after === undefined ? undefined : options.after.length - after + 1;
  rows.push(...gapRows({ gap: hunks.length, before, after, lines }, options));
  return rows;
}

interface Gap {
  readonly gap: number;
  readonly before: number;
  readonly after: number;
  readonly lines: number | undefined;
}

function gapRows({ gap, before, after, lines }: Gap, { after: file, opened }: RowsOptions): readonly Row[] {
  if (lines === undefined) return [{ row: "gap", gap, hidden: undefined }];
  if (lines <= 0) return [];
  const { head, tail } = opened.get(gap) ?? { head: 0, tail: 0 };
  if (file === undefined || head + tail === 0) return [{ row: "gap", gap, hidden: lines }];
  const shown = (from: number, to: number): readonly Row[] =>
    Array.from({ length: to - from }, (_, at) => {
      const text = file[after + from + at - 1] ?? "";
      const side = (line: number): Side => ({ line, text, isCutOff: false });
      return { row: "line", kind: "same", before: side(before + from + at), after: side(after + from + at) };
    });
  if (head + tail >= lines) return shown(0, lines);
  return [...shown(0, head), { row: "gap", gap, hidden: lines - head - tail }, ...shown(lines - tail, lines)];
}

function side(line: number, { text, isCutOff = false }: HunkLine, words?: Spans): Side {
  return { line, text, isCutOff, ...(words !== undefined && { words }) };
}

/** Lines that go, and those that come in their place. */
interface Block {
  readonly deleted: readonly Side[];
  readonly added: readonly Side[];
}

function splitRows(hunk: Hunk, at: number): readonly Row[] {
  return [...parts(hunk)].flatMap((part): readonly Row[] => {
    if (!("deleted" in part)) return [{ row: "line", kind: "same", ...part, hunk: at }];
    const { deleted, added } = part;
    return Array.from({ length: Math.max(deleted.length, added.length) }, (_, index) => {
      const [before, after] = [deleted[index], added[index]];
      const kind = before === undefined ? "added" : after === undefined ? "deleted" : "changed";
      return {
        ...({ row: "line", kind, hunk: at } as const),
        ...(before !== undefined && { before }),
        ...(after !== undefined && { after }),
      };
    });
  });
}

function unifiedRows(hunk: Hunk, at: number): readonly Row[] {
  return [...parts(hunk)].flatMap((part): readonly Row[] => {
    if (!("deleted" in part)) return [{ row: "line", kind: "same", ...part, hunk: at }];
    return [
      ...part.deleted.map((before) => ({ row: "line", kind: "deleted", before, hunk: at }) as const),
      ...part.added.map((after) => ({ row: "line", kind: "added", after, hunk: at }) as const),
    ];
  });
}

/** The lines that stay, and the blocks between them. */
function* parts(hunk: Hunk): Generator<Block | { readonly before: Side; readonly after: Side }> {
  let [before, after] = [hunk.before, hunk.after];
  let [deleted, added]: [HunkLine[], HunkLine[]] = [[], []];
  const block = (): Block => {
    const made = blockOf(
      { deleted, before: before - deleted.length },
      { added, after: after - added.length },
    );
    [deleted, added] = [[], []];
    return made;
  };
  for (const line of hunk.lines) {
    if (line.kind === "deleted") {
      if (added.length > 0) yield block();
      deleted.push(line);
      before += 1;
    } else if (line.kind === "added") {
      added.push(line);
      after += 1;
    } else {
      if (deleted.length + added.length > 0) yield block();
      yield { before: side(before, line), after: side(after, line) };
      before += 1;
      after += 1;
    }
  }
  if (deleted.length + added.length > 0) yield block();
}

function blockOf(
  { deleted, before }: { readonly deleted: readonly HunkLine[]; readonly before: number },
  { added, after }: { readonly added: readonly HunkLine[]; readonly after: number },
): Block {
  // Words are worth showing only where line stands beside line.
  const pairs = deleted.length === added.length ? deleted.map((line, at) => pairOf(line, added[at])) : [];
  return {
    deleted: deleted.map((line, at) => side(before + at, line, pairs[at]?.before)),
    added: added.map((line, at) => side(after + at, line, pairs[at]?.after)),
  };
}

function pairOf(before: HunkLine, after: HunkLine | undefined) {
  return after === undefined ? undefined : wordsBetween(before.text, after.text);
}
