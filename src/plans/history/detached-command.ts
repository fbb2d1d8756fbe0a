import { join } from "node:path";
import type { EventDetails } from "../../core/values/plan-events.ts";
import type { PlanSession } from "../../sandboxes/access/plan-session.ts";
import type { NumberedEntry } from "../../store/store.ts";
import { connectPrivately, type SocketPlace } from "../../system/process/private-socket.ts";
import type { DetachedView, RunEnd } from "../plan-views.ts";

/** Most histories end soon after the start of a detached command. */
const AT_ONCE = 100;

/** A detached command of a plan, and what the history has of its end. */
export interface DetachedFacts extends DetachedView {
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

/**
 * The detached command of a plan with this id, or the one that was started last; undefined if there was none.
 * Costs little then.
 */
export async function detachedCommand(
  session: PlanSession,
  planId: string,
  exec?: string,
): Promise<DetachedFacts | undefined> {
  const { store, sandboxes, stateDir } = session;
  const last = await store.lastEntry(planId, ["detached"]);
  if (last === undefined) return undefined;
  const start = exec === undefined || execOf(last) === exec ? last : await startOf(session, planId, exec);
  if (start === undefined) return undefined;
  const id = execOf(start);
  const { command } = start.entry.details as EventDetails["detached"];
  const facts = { exec: id, command, since: start.entry.at };
  const { pid } = start.entry;
  const running = { ...facts, state: "running" as const, ...(pid !== undefined && { pid }) };
  // Looked at first: a command that ends meanwhile then still has its end in the history.
  if (sandboxes.detached(planId)?.id === id) return running;
  // Its process listens until all is done that comes after the command, such as a landing.
  if (start === last && (await isListening(stateDir, planId))) return running;
  const end = await entryAfter(session, planId, start.seq, "executed", id);
  if (end === undefined) return { ...facts, state: "killed" };
  const { command: _, ...how } = end.entry.details as EventDetails["executed"];
  const run = await runEnd(session, planId, id);
  return { ...facts, state: "ended", endedAt: end.entry.at, ...how, ...(run !== undefined && { run }) };
}

/** A `run` makes its plan, so a plan has the end of one at most. */
async function runEnd({ store }: PlanSession, planId: string, id: string): Promise<RunEnd | undefined> {
  const noted = await store.lastEntry(planId, ["run ended"]);
  if (noted === undefined) return undefined;
  const { exec, ...end } = noted.entry.details as EventDetails["run ended"];
  return exec === id ? end : undefined;
}

function execOf({ entry }: NumberedEntry): string {
  return (entry.details as EventDetails["detached"]).exec;
}

async function startOf(session: PlanSession, planId: string, exec: string) {
  return await entryAfter(session, planId, 0, "detached", exec);
}

/** The first entry behind a place that tells this event of this command. */
async function entryAfter(
  { store }: PlanSession,
  planId: string,
  after: number,
  event: "detached" | "executed",
  exec: string,
): Promise<NumberedEntry | undefined> {
  for (let seq = after; ; ) {
    const entries = await store.historyAfter(seq, { planId, limit: AT_ONCE });
    const found = entries.find(({ entry }) => entry.event === event && entry.details["exec"] === exec);
    const last = entries.at(-1);
    if (found !== undefined || last === undefined) return found;
    seq = last.seq;
  }
}
