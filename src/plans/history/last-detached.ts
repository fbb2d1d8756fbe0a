import { join } from "node:path";
import type { EventDetails } from "../../core/values/plan-events.ts";
import type { PlanSession } from "../../sandboxes/access/plan-session.ts";
import { connectPrivately, type SocketPlace } from "../../system/process/private-socket.ts";
import type { DetachedView } from "../plan-views.ts";

/** Most histories end soon after the start of a detached command. */
const AT_ONCE = 100;

/** The last detached command of a plan, and what the history has of its end. */
export interface LastDetached extends DetachedView {
  /** Its id in the history of the plan. */
  readonly exec: string;
  /** What it wrote, of long output the beginning and the end; absent while it runs. */
  readonly output?: string;
}

/** Where the process that keeps a detached command of a plan listens. */
export function terminalSocket(stateDir: string, planId: string): SocketPlace {
  return { folder: join(stateDir, "runs", planId), name: "terminal.sock" };
}

/** Whether a process keeps the terminal of a detached command of a plan. */
export async function isListening(stateDir: string, planId: string): Promise<boolean> {
  const socket = await connectPrivately(terminalSocket(stateDir, planId));
  socket?.destroy();
  return socket !== undefined;
}

/** The detached command that was started last in a plan; undefined if none was. Costs little then. */
export async function lastDetached(
  { store, sandboxes, stateDir }: PlanSession,
  planId: string,
): Promise<LastDetached | undefined> {
  const start = await store.lastEntry(planId, ["detached"]);
  if (start === undefined) return undefined;
  const { exec, command } = start.entry.details as EventDetails["detached"];
  const facts = { exec, command, since: start.entry.at };
  const running = { ...facts, ...(start.entry.pid !== undefined && { pid: start.entry.pid }) };
  // Looked at first: a command that ends meanwhile then still has its end in the history.
  if (sandboxes.detached(planId)?.id === exec) return running;
  for (let { seq } = start; ; ) {
    const entries = await store.historyAfter(seq, { planId, limit: AT_ONCE });
    const end = entries.find(({ entry }) => entry.event === "executed" && entry.details["exec"] === exec);
    if (end !== undefined) {
      const { exitCode, output } = end.entry.details as EventDetails["executed"];
      return { ...facts, endedAt: end.entry.at, exitCode, ...(output !== undefined && { output }) };
    }
    const last = entries.at(-1);
    // Between the end of a command and the note about it, its process still listens.
    if (last === undefined) return (await isListening(stateDir, planId)) ? running : facts;
    seq = last.seq;
  }
}
