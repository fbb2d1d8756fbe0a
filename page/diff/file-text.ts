import { pathFromBytes } from "../../src/core/paths/byte-path.ts";
import { contentOf, hunksOf, patchOf } from "../api/server.ts";
import type { Change } from "../api/types.ts";
import type { ShownHunks } from "../model/hunks.ts";
import { type Hunk, hunkOf, hunksIn } from "./patch.ts";
import { languageOf, type Tokens, tokensOf } from "./syntax.ts";

/** The file beyond its hunks is read up to this size, for those who want to see more of it. */
const MOST_BYTES = 4 * 1024 * 1024;

/** What is known of a file; its lines beyond the hunks only if they were read. */
export interface FileText {
  readonly hunks: readonly Hunk[];
  readonly after?: readonly string[];
  /** The change that the hunks are of, if each can have a word of its own. */
  readonly digest?: string;
}

export interface Colours {
  readonly before?: Tokens;
  readonly after?: Tokens;
}

/** Reads the lines of a change. */
export async function read(plan: string, change: Change, signal: AbortSignal): Promise<FileText> {
  const { operation, after } = change;
  if (operation !== "modified") return { hunks: await patchedLines(plan, change, signal) };
  const { digest, hunks: found } = await hunksOf(plan, change, signal);
  const known =
    found.length > 0
      ? { hunks: found.map(hunkOf), digest }
      : { hunks: await patchedLines(plan, change, signal) };
  if ((after?.size ?? 0) > MOST_BYTES) return known;
  const content = pathFromBytes(await contentOf(plan, change, { side: "after", most: MOST_BYTES, signal }));
  return { ...known, after: linesIn(content) };
}

/** The lines of a change that has no hunks of its own, such as a new file. */
async function patchedLines(plan: string, change: Change, signal: AbortSignal): Promise<readonly Hunk[]> {
  return hunksIn(pathFromBytes(await patchOf(plan, change, signal)));
}

/** The hunks that each can have a word. One on the only hunk would be one on the file. */
export function shownHunks({ digest, hunks }: FileText): ShownHunks | undefined {
  if (digest === undefined || hunks.length < 2) return undefined;
  return { digest, ids: hunks.map(({ id = "" }) => id) };
}

/** Whether every line that can be shown ends with CRLF. */
export function endsInCrlf({ hunks, after = [] }: FileText): boolean {
  const lines = hunks.flatMap((hunk) => hunk.lines).filter(({ isCutOff }) => isCutOff !== true);
  // The last line of the file may have no end.
  const others = after.slice(0, -1);
  const hasIt = (text: string) => text.endsWith("\r");
  return lines.length > 0 && lines.every(({ text }) => hasIt(text)) && others.every(hasIt);
}

function linesIn(text: string): readonly string[] {
  const lines = text.split("\n");
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}

/** The colours of both sides. A side of which only parts are known has the colours of these parts. */
export async function coloursOf(path: string, { hunks, after }: FileText): Promise<Colours> {
  const language = languageOf(path);
  const sides = {
    before: linesOf(hunks, "before", after),
    after: after ?? linesOf(hunks, "after", undefined),
  };
  const [before, now] = await Promise.all([
    tokensOf(sides.before, language),
    tokensOf(sides.after, language),
  ]);
  return { ...(before !== undefined && { before }), ...(now !== undefined && { after: now }) };
}

/** All lines of a side: those of the hunks, and between them those of the other side, which are the same. */
function linesOf(
  hunks: readonly Hunk[],
  side: "before" | "after",
  file: readonly string[] | undefined,
): readonly string[] {
  const lines: string[] = [];
  const other = side === "before" ? "added" : "deleted";
  let at = 1;
  for (const hunk of hunks) {
    for (; at < hunk.after && lines.length < hunk[side] - 1; at += 1) lines.push(file?.[at - 1] ?? "");
    while (lines.length < hunk[side] - 1) lines.push("");
    for (const { kind, text } of hunk.lines) if (kind !== other) lines.push(text);
    at = hunk.after + hunk.lines.filter(({ kind }) => kind !== "deleted").length;
  }
  return lines;
}
