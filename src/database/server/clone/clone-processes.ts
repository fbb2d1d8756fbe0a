import { setTimeout as sleep } from "node:timers/promises";
import { SandboxStateError } from "../../../core/errors/errors.ts";
import { unlessFailed } from "../../../system/calls/errno.ts";
import { Folder } from "../../../system/calls/folder.ts";
import { readTextFile } from "../../../system/data/text-files.ts";
import { failpoint, passFailpoint } from "../../../system/failpoints.ts";
import { milliseconds } from "../../../system/milliseconds.ts";
import { processIds, readLinkIfThere } from "../../../system/process/processes.ts";

const POINTS = { stop: failpoint("clone.stop"), unlock: failpoint("clone.unlock") };
const LARGEST = 1 << 16;
const LOOK_AGAIN_MS = 20;

/** What the processes of a product's servers have in common: their current folder is the data directory. */
export interface ServerProcesses {
  /** The file in the data directory that begins with the number of the first process. */
  readonly lock: string;
  /** How long a server may take to end by each signal, the gentlest first. */
  readonly ending: readonly (readonly [signal: NodeJS.Signals, patienceMs: number])[];
}

/** All processes of the server with this data directory. */
function processesOf(data: string): number[] {
  return processIds()
    .filter((pid) => readLinkIfThere(`/proc/${pid}/cwd`) === data)
    .map(Number);
}

/** The first process of the server, if it runs. */
export function leaderOf(data: string, { lock }: Pick<ServerProcesses, "lock">): number | undefined {
  const pid = lockedBy(data, lock);
  return pid !== undefined && readLinkIfThere(`/proc/${pid}/cwd`) === data ? pid : undefined;
}

/** A server may take any process with the number in its lock for itself, also after a restart. */
export function removeDeadLock(data: string, { lock }: Pick<ServerProcesses, "lock">): void {
  if (lockedBy(data, lock) === undefined || leaderOf(data, { lock }) !== undefined) return;
  using folder = Folder.open(data);
  if (folder.facts(lock) !== undefined) folder.removeFile(POINTS.unlock, lock);
}

/** Ends the server with all its processes, by force if necessary. */
export async function endServer(data: string, { lock, ending }: ServerProcesses): Promise<void> {
  if (processesOf(data).length === 0) return;
  passFailpoint(POINTS.stop);
  for (const [signal, patienceMs] of ending) {
    const deadline = milliseconds() + patienceMs;
    const leader = leaderOf(data, { lock });
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

function lockedBy(data: string, lock: string): number | undefined {
  const pid = Number.parseInt(readTextFile(`${data}/${lock}`, LARGEST)?.text ?? "", 10);
  return Number.isSafeInteger(pid) ? pid : undefined;
}
