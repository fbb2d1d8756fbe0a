import { constants } from "node:os";
import { failedWith } from "../calls/errno.ts";
import { check, lazyCalls } from "../calls/native.ts";
import { launchCalls } from "../launch/calls.ts";
import { childrenOf } from "../process/processes.ts";

const PR_SET_CHILD_SUBREAPER = 36;
const WNOHANG = 1;
const SELF = "this process";

const waitCalls = lazyCalls({
  waitpid: "int waitpid(int pid, void *status, int options)",
  exit: "void _exit(int code)",
});

/** From now on, a descendant whose parent ends becomes a child of this process. */
export function adoptOrphans(): void {
  check(launchCalls.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "prctl", SELF);
}

/** Lets go of adopted children that have ended. `own` is one that Node waits for. */
export function reapAdopted(own: number): void {
  for (const pid of childrenOf(process.pid)) if (pid !== own) waitCalls.waitpid(pid, null, WNOHANG);
}

/**
 * Kills every descendant, and resolves when there is none. One that forks faster than it is found comes to
 * light again: its orphans are ours.
 */
export async function endDescendants(): Promise<void> {
  for (;;) {
    for (const pid of descendantsOf(process.pid)) kill(pid);
    let reaped: number;
    do reaped = waitCalls.waitpid(-1, null, WNOHANG);
    while (reaped > 0);
    // There is no child at all.
    if (reaped < 0) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function descendantsOf(pid: number): readonly number[] {
  return childrenOf(pid).flatMap((child) => [child, ...descendantsOf(child)]);
}

function kill(pid: number): void {
  try {
    process.kill(pid, constants.signals.SIGKILL);
  } catch (thrown) {
    // A set-id program would be another user's; there is none, because no process gains rights inside.
    if (!failedWith(thrown, "ESRCH")) throw thrown;
  }
}

/** Ends this process at once. Node would give the user's terminal the settings that it had at our start. */
export function exitAtOnce(code: number): void {
  waitCalls.exit(code);
}
