import { join } from "node:path";
import { terminalSocket } from "../../plans/history/detached-command.ts";
import { Folder } from "../../system/calls/folder.ts";
import { readTextFile } from "../../system/data/text-files.ts";
import { parsed, writeWhole } from "../../system/data/whole-file.ts";
import { failpoint } from "../../system/failpoints.ts";
import type { LastBytes } from "../../system/terminal/last-bytes.ts";

/**
 * The last output of a plan's last detached command, once that has ended: `runs/PLAN/terminal.output` in the
 * state directory, a line of JSON and the bytes. The process that keeps the command writes it before it stops
 * listening, so a program finds the output at the one place or at the other. The next detached command
 * replaces it, and it goes with the plan.
 */
const NAME = "terminal.output";
const WRITE = failpoint("detached.output");

/** How much of the output of a detached command is kept. */
export const MOST_KEPT = 256 * 1024;
const LONGEST_LINE = 1024;

interface Heading {
  readonly exec: string;
  readonly total: number;
}

/** Output of a command, and how much there was in all. */
export interface EndedOutput {
  readonly bytes: Buffer;
  readonly total: number;
}

export function keepOutput(stateDir: string, planId: string, exec: string, last: LastBytes): void {
  using folder = Folder.open(terminalSocket(stateDir, planId).folder);
  const heading: Heading = { exec, total: last.total };
  writeWhole(WRITE, folder, NAME, Buffer.concat([Buffer.from(`${JSON.stringify(heading)}\n`), last.bytes()]));
}

/** The kept output of a command that has ended; undefined if it is not kept any more. */
export function keptOutput(stateDir: string, planId: string, exec: string): EndedOutput | undefined {
  const file = join(terminalSocket(stateDir, planId).folder, NAME);
  const bytes = readTextFile(file, MOST_KEPT + LONGEST_LINE)?.bytes;
  const line = bytes?.indexOf("\n") ?? -1;
  if (bytes === undefined || line < 0) return undefined;
  const heading = parsed<Heading>(bytes.subarray(0, line));
  const content = bytes.subarray(line + 1);
  // A power cut can leave less than was written.
  if (heading?.exec !== exec || content.length !== Math.min(heading.total, MOST_KEPT)) return undefined;
  return { bytes: content, total: heading.total };
}
