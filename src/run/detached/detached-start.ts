import { type PlainError, reviveError } from "../../core/errors/revive-error.ts";
import type { Notice } from "../../core/values/notice.ts";
import { ownProgram } from "../../system/process/own-program.ts";
import type { SpawnRequest } from "../spawn.ts";
import type { DetachedReport } from "./command-keeping.ts";
import { startKeeping } from "./start-keeping.ts";

/**
 * Starts a detached command for a program. The process that keeps it is detached/detached-main.ts. It gets a
 * `DetachedStart` as JSON on its standard input, and says each `DetachedWord` as a line of JSON, until the
 * command is up or could not be started.
 */
export interface DetachedStart {
  /** The state directory, opened as the program opened it. */
  readonly place: KeepingPlace;
  readonly planId: string;
  readonly request: DetachRequest;
}

export interface KeepingPlace {
  readonly stateDir: string;
  readonly cwd: string;
  readonly environment: { readonly [name: string]: string | undefined };
  readonly config?: string;
}

/** A command to start detached: it has a terminal of this size, or of 80 columns and 24 rows. */
export type DetachRequest = Omit<SpawnRequest, "signal" | "onStart">;

export type DetachedWord =
  | { readonly notice: Notice }
  | { readonly up: DetachedReport }
  | { readonly failed: PlainError };

const COMPILED = "node_modules/.cache/drydock-compiled";
const IN_SOURCE = "detached/detached-main.ts";
/** That process from this file: in the source, in dist/, and in a bundle of the tests. */
const LOCATIONS = [
  { program: `../../${IN_SOURCE}`, compiled: `../../../${COMPILED}` },
  { program: "./detached.js", compiled: "./.compile-cache" },
  { program: "../detached.js", compiled: "../.compile-cache" },
  { program: `../../../src/${IN_SOURCE}`, compiled: `../../../${COMPILED}` },
];

export async function startDetached(
  start: DetachedStart,
  { signal, notice }: { readonly signal: AbortSignal; readonly notice: (notice: Notice) => void },
): Promise<DetachedReport> {
  const said = await startKeeping(ownProgram(import.meta.dirname, LOCATIONS), start, signal);
  const words = said.stdout.split("\n").filter((line) => line !== "");
  for (const word of words.map((line) => JSON.parse(line) as DetachedWord)) {
    if ("notice" in word) notice(word.notice);
    else if ("failed" in word) throw reviveError(word.failed) ?? new Error(word.failed.message);
    else return word.up;
  }
  throw new Error(`The process that was to keep the command ended: ${said.stderr.trim()}`);
}
