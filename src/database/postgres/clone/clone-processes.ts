import { setTimeout as sleep } from "node:timers/promises";
import { SandboxStateError } from "../../../core/errors/errors.ts";
import { unlessFailed } from "../../../system/calls/errno.ts";
import { Folder } from "../../../system/calls/folder.ts";
import { readTextFile } from "../../../system/data/text-files.ts";
import { failpoint, passFailpoint } from "../../../system/failpoints.ts";
import { milliseconds } from "../../../system/milliseconds.ts";
import { processIds, readLinkIfThere } from "../../../system/process/processes.ts";

/** The processes of a clone's server: their current folder is its data directory. */
const POINTS = { stop: failpoint("clone.stop"), unlock: failpoint("clone.unlock") };
const LOCK = "postmaster.pid";
const LARGEST = 1 << 16;
const LOOK_AGAIN_MS = 20;
/** How long the server may take to end by each signal, the gentlest first. */
const ENDING = [
  ["SIGINT", 20_000],
  ["SIGQUIT", 5000],
  ["SIGKILL", 10_000],
] as const;

/** All processes of the server with this data directory. */
function processesOf(data: string): number[] {
  return processIds()
    .filter((pid) => readLinkIfThere(`/proc/${pid}/cwd`) === data)
    .map(Number);
}

/** The first process of the server, if it runs. */
export function leaderOf(data: string): number | undefined {
  const pid = lockedBy(data);
  return pid !== undefined && readLinkIfThere(`/proc/${pid}/cwd`) === data ? pid : undefined;
}

/** The server takes any process with the number in its lock for itself, also after a restart. */
export function removeDeadLock(data: string): void {
  if (lockedBy(data) === undefined || leaderOf(data) !== undefined) return;
  using folder = Folder.open(data);
  if (folder.facts(LOCK) !== undefined) folder.removeFile(POINTS.unlock, LOCK);
}

/** Ends the server with all its processes, by force if necessary. */
export async function endClone(data: string): Promise<void> {
  if (processesOf(data).length === 0) return;
  passFailpoint(POINTS.stop);
  for (const [signal, patienceMs] of ENDING) {
    const deadline = milliseconds() + patienceMs;
    const leader = leaderOf(data);
    for (const pid of signal === "SIGKILL" || leader === undefined ? processesOf(data) : [leader])
      unlessFailed(["ESRCH"], () => process.kill(pid, signal));
    while (processesOf(data).length > 0 && milliseconds() < deadline) await sleep(LOOK_AGAIN_MS);
    if (processesOf(data).length === 0) return;
  }
  throw new SandboxStateError(`The server of the clone in ${data} does not end.`, {
    from: "ACTIVE",
    to: "REMOVED",
    hint: `End its processes (${processesOf(data).join(", ")}) and try again.`,
  });
}

function lockedBy(data: string): number | undefined {
  const pid = Number.parseInt(readTextFile(`${data}/${LOCK}`, LARGEST)?.text ?? "", 10);
  return Number.isSafeInteger(pid) ? pid : undefined;
}
