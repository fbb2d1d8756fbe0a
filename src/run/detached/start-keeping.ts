import { StateError } from "../../core/errors/errors.ts";
import { failpoint } from "../../system/failpoints.ts";
import { type BackgroundStart, backgroundStart } from "../../system/process/background-process.ts";
import type { Program } from "../../system/process/start-process.ts";
import type { WindowSize } from "../../system/terminal/program-streams.ts";

const START = failpoint("detached.start");

/** The size of a terminal, if there is none to take the size of. */
export const USUAL_SIZE: WindowSize = { rows: 24, columns: 80 };

/** The environment of a detached command: programs draw for the terminal that is attached later. */
export function withTerminal<Environment extends { readonly [name: string]: string | undefined }>(
  environment: Environment,
): Environment {
  return { TERM: "xterm-256color", ...environment };
}

/**
 * Starts the process that keeps a detached command, and waits until the command is up, or the process has
 * ended and said why. The signal asks it to end, the command with it.
 */
export async function startKeeping(
  program: Program,
  start: object,
  signal: AbortSignal,
): Promise<BackgroundStart> {
  const said = await backgroundStart(START, program, JSON.stringify(start), { signal, ends: "SIGTERM" });
  if (said.isReady || said.exitCode !== undefined) return said;
  throw new StateError("The process that was to keep the command was killed, and the command with it.", {
    hint: "Look at the plans that there are, and try again.",
  });
}
