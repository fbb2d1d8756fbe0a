import { CHANGE_KINDS, CHANGE_OPERATIONS, type Change, type DiffView } from "../core/change.ts";
import type { SavedCheckpoint } from "../core/checkpoint.ts";
import { messageOf } from "../core/errors.ts";
import { copyPlain } from "../core/plain-data.ts";
import type { ProgramView } from "../core/program-view.ts";
import type { StatementResult } from "../core/query.ts";
import { type MadeWith, type SandboxRef, sandboxIdFor } from "../core/sandbox.ts";
import type { Attention, CommitResult, PreparedCommit } from "../core/strategy.ts";
import type { ProbeResult, StrategyWay } from "../core/strategy-abilities.ts";

/**
 * What strategies of the user's own return, as it may be used and kept: plain data of the right shape and of bounded size. Each function throws
 * what is wrong, to complete a sentence that begins with the method.
 */

type Members = { readonly [member: string]: unknown };

/** What a sandbox may need to be known by, and what a prepare may have to say: both go into every record of a commit. */
const LONGEST_REF = 64 * 1024;
const LONGEST_PREPARED = 4 * 1024 * 1024;
const LONGEST_DIFF = 512 * 1024 * 1024;
const LONGEST_TEXT = 64 * 1024;

export class NonsenseError extends Error {}

/** A ref for the sandbox that was asked for, and for no other. */
export function refFrom(
  value: unknown,
  planId: string,
  resourceId: string,
  strategyName: string,
  madeWith: MadeWith,
): SandboxRef {
  const { sandboxId, metadata, capabilities, ...ref } = membersOf(
    plain(value, LONGEST_REF),
    "a reference to a sandbox",
  );
  const expected = sandboxIdFor(planId, resourceId);
  if (ref["planId"] !== planId || ref["resourceId"] !== resourceId)
    throw new NonsenseError("did not return a reference to the sandbox it was asked for");
  if (sandboxId !== expected) throw new NonsenseError(`returned the sandboxId ${shown(sandboxId)}, not ${expected}`);
  membersOf(metadata, "metadata");
  return {
    sandboxId: expected,
    planId,
    resourceId,
    strategyName,
    metadata: metadata as SandboxRef["metadata"],
    ...(capabilities !== undefined && { capabilities: lessCapable(capabilities) }),
    ...(Object.keys(madeWith).length > 0 && { madeWith }),
  };
}

function lessCapable(value: unknown): NonNullable<SandboxRef["capabilities"]> {
  const { commit, undo, partial } = membersOf(value, "capabilities");
  const isVote = commit === "two-phase" || commit === "one-phase" || commit === "in-place";
  if (!isVote || !isYesOrNo(undo) || !isYesOrNo(partial))
    throw new NonsenseError("returned capabilities that make no sense");
  return { commit, ...(undo !== undefined && { undo }), ...(partial !== undefined && { partial }) };
}

function isYesOrNo(value: unknown): value is boolean | undefined {
  return value === undefined || typeof value === "boolean";
}

export function bytesFrom(value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value;
  throw new NonsenseError(`returned ${shown(value)}, not bytes`);
}

export function changeFrom(value: unknown): Change {
  const change = membersOf(plain(value, LONGEST_DIFF), "a change");
  const { path, operation, kind, warnings, insertions, deletions } = change;
  textFrom(path, "the path of a change");
  if (!CHANGE_OPERATIONS.some((known) => known === operation))
    throw new NonsenseError(`returned a change that was ${shown(operation)}, not ${CHANGE_OPERATIONS.join(", ")}`);
  if (!CHANGE_KINDS.some((known) => known === kind))
    throw new NonsenseError(`returned a change of a ${shown(kind)}, not of a ${CHANGE_KINDS.join(", ")}`);
  if (warnings !== undefined) linesFrom(warnings);
  for (const count of [insertions, deletions]) if (count !== undefined) countFrom(count);
  return change as unknown as Change;
}

export function diffFrom(value: unknown): DiffView {
  const { changes } = membersOf(value, "a diff");
  // The stats are derived, so that they are true.
  return { changes: listFrom(changes, "changes").map(changeFrom) };
}

export function preparedFrom(value: unknown): PreparedCommit | null {
  if (value === null) return null;
  const { changes, data, warnings } = membersOf(plain(value, LONGEST_PREPARED), "what it prepared, or null");
  return {
    changes: countFrom(changes),
    data: membersOf(data, "data") as PreparedCommit["data"],
    ...(warnings !== undefined && { warnings: linesFrom(warnings) }),
  };
}

/**
 * What it says of a commit that it has done. It is done whatever it says, so what makes no sense becomes something that a person should look at,
 * and not a failure.
 */
export function commitResultFrom(value: unknown, expected: number, method: string, strategy: string): CommitResult {
  if (value === undefined) return { changes: expected, attention: [] };
  try {
    const { changes, attention } = membersOf(plain(value, LONGEST_PREPARED), "a result");
    return { changes: countFrom(changes), attention: attention === undefined ? [] : attentionFrom(attention) };
  } catch (thrown) {
    const message = `${method} of the strategy ${strategy} ${messageOf(thrown)}; look whether all of it has landed`;
    return { changes: expected, attention: [{ path: ".", message }] };
  }
}

function attentionFrom(value: unknown): readonly Attention[] {
  return listFrom(value, "what needs attention").map((item) => {
    const { path, message, keptAt } = membersOf(plain(item, LONGEST_TEXT), "attention");
    return {
      path: textFrom(path, "a path"),
      message: textFrom(message, "a message"),
      ...(keptAt !== undefined && { keptAt: textFrom(keptAt, "a place") }),
    };
  });
}

/** Taking back is done when it says so, as a commit is. */
export function takenBackFrom(value: unknown, method: string, strategy: string): readonly Attention[] {
  if (value === undefined) return [];
  try {
    return attentionFrom(value);
  } catch (thrown) {
    return [{ path: ".", message: `${method} of the strategy ${strategy} ${messageOf(thrown)}` }];
  }
}

export function savedFrom(value: unknown): SavedCheckpoint {
  if (value === undefined) return {};
  const { mark, bytes, isSame } = membersOf(plain(value, LONGEST_TEXT), "what it saved");
  if (isSame !== undefined && typeof isSame !== "boolean")
    throw new NonsenseError("returned an isSame that is no yes or no");
  return {
    ...(mark !== undefined && { mark: textFrom(mark, "a mark") }),
    ...(bytes !== undefined && { bytes: countFrom(bytes) }),
    ...(isSame !== undefined && { isSame }),
  };
}

export function pathFrom(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  const path = textFrom(value, "a path");
  if (path.startsWith("/") || /^[A-Za-z][A-Za-z0-9+.-]*:/.test(path)) return path;
  throw new NonsenseError(`returned ${shown(path)}, which is neither an absolute path nor a URL`);
}

export function viewFrom(value: unknown): ProgramView {
  const view = membersOf(plain(value, LONGEST_TEXT), "a view");
  const needed = view["kind"] === "layers" ? ["lower", "upper", "work", "source"] : ["path"];
  if (view["kind"] !== "layers" && view["kind"] !== "place")
    throw new NonsenseError(`returned a view of the kind ${shown(view["kind"])}, not place or layers`);
  for (const member of needed) textFrom(view[member], `the ${member} of a view`);
  return view as unknown as ProgramView;
}

export function environmentFrom(value: unknown): { readonly [name: string]: string } {
  const variables = membersOf(plain(value ?? {}, LONGEST_PREPARED), "variables");
  for (const [name, content] of Object.entries(variables)) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) throw new NonsenseError(`returned a variable called ${shown(name)}`);
    if (content !== "") textFrom(content, `the variable ${name}`);
  }
  return variables as { readonly [name: string]: string };
}

export function linesFrom(value: unknown): readonly string[] {
  return value === undefined ? [] : listFrom(value, "lines").map((line) => textFrom(line, "a line"));
}

export function probeFrom(value: unknown): ProbeResult {
  const { works, note, reason } = membersOf(plain(value ?? { works: true }, LONGEST_TEXT), "whether it works");
  if (works === true) return { works, ...(note !== undefined && { note: textFrom(note, "a note") }) };
  if (works === false) return { works, reason: typeof reason === "string" ? reason : "it does not say why" };
  throw new NonsenseError(`returned works: ${shown(works)}, not true or false`);
}

export function waysFrom(value: unknown): readonly StrategyWay[] | undefined {
  if (value === undefined) return undefined;
  return listFrom(value, "ways").map((way) => {
    const { name, works, detail } = membersOf(plain(way, LONGEST_TEXT), "a way");
    return { name: textFrom(name, "a name"), works: works === true, detail: textFrom(detail, "a detail") };
  });
}

/** Values of databases are no plain data; they are shown and not kept. */
export function statementsFrom(value: unknown): readonly StatementResult[] {
  return listFrom(value, "results").map((item) => {
    const { columns, rows, changes } = membersOf(item, "a result");
    linesFrom(columns);
    for (const row of listFrom(rows, "rows")) listFrom(row, "values");
    countFrom(changes);
    return item as StatementResult;
  });
}

/** A copy of what a strategy gets, so that whatever it does to it stays its own. */
export function ownCopy<T extends object>(value: T): T {
  return copyPlain(value, LONGEST_DIFF) as unknown as T;
}

function plain(value: unknown, longest: number): unknown {
  try {
    return value === undefined ? undefined : copyPlain(value, longest);
  } catch (thrown) {
    throw new NonsenseError(`returned something that can't be kept: ${messageOf(thrown)}`, { cause: thrown });
  }
}

function membersOf(value: unknown, what: string): Members {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Members;
  throw new NonsenseError(`returned ${shown(value)}, not ${what}`);
}

function listFrom(value: unknown, what: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new NonsenseError(`returned ${shown(value)}, not a list of ${what}`);
}

function countFrom(value: unknown): number {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number;
  throw new NonsenseError(`returned ${shown(value)} as a number of something`);
}

function textFrom(value: unknown, what: string): string {
  if (typeof value === "string" && value !== "" && !value.includes("\0") && value.length <= LONGEST_TEXT) return value;
  throw new NonsenseError(`returned ${shown(value)} as ${what}`);
}

function shown(value: unknown): string {
  if (typeof value === "string") return `'${value.length > 60 ? `${value.slice(0, 57)}...` : value}'`;
  if (value === null || value === undefined || typeof value === "number" || typeof value === "boolean")
    return String(value);
  return Array.isArray(value) ? "a list" : `a ${typeof value}`;
}
