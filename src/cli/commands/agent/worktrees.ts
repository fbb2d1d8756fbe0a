import { UnsupportedError } from "../../../core/errors/errors.ts";
import { displayPath, isAtOrBelow } from "../../../core/paths/byte-path.ts";
import type { PlanView } from "../../../plans/plan-views.ts";
import type { Services } from "../../../services.ts";
import { realPathOf } from "../../../system/data/locations.ts";
import { checkoutAround } from "../../options/checkout-around.ts";
import { type HookEvent, type HookResult, noEvent } from "./hook-event.ts";

/** The label of a plan whose folder an agent got as a worktree; its value is the agent's name for it. */
const WORKTREE = "agent-worktree";
const SESSION = "agent-session";

/**
 * The strategies whose sandbox is a plain folder, for every user and after a restart too. An agent keeps its
 * worktree for days, and works in it from outside.
 */
const IN_FOLDERS = ["git_worktree", "copy_on_write", "filesystem_copy"] as const;

/** Whether an agent got this plan as a worktree. */
export function isWorktree({ labels = {} }: PlanView): boolean {
  return labels[WORKTREE] !== undefined;
}

/** Makes a plan over the checkout or folder in which the agent is, or finds the one of that name. */
export async function createWorktree(
  drydock: Services,
  { cwd, name, session_id: session }: HookEvent,
  home: string | undefined,
): Promise<HookResult> {
  if (name === undefined) throw noEvent("name is missing");
  const checkout = checkoutAround(cwd, home);
  const location = realPathOf(checkout ?? cwd) ?? cwd;
  const open = await drydock.plans.list({ labels: { [WORKTREE]: name } });
  const found = open.find(({ resources }) => resources[0]?.location === location);
  if (found !== undefined)
    return { outcome: "found", planId: found.id, path: await drydock.plans.path(found.id) };
  const labels = { [WORKTREE]: name, ...(session !== undefined && { [SESSION]: session }) };
  const strategies = IN_FOLDERS.filter((strategy) => checkout !== undefined || strategy !== "git_worktree");
  const { id } = await firstThatWorks(strategies, (strategy) =>
    drydock.plans.create({ resources: [{ location, strategy }], name, labels }),
  );
  return { outcome: "created", planId: id, path: await drydock.plans.path(id) };
}

/** Tries the strategies in turn; what the last one says is the error. */
async function firstThatWorks(
  [strategy = "filesystem_copy", ...others]: readonly string[],
  create: (strategy: string) => Promise<PlanView>,
): Promise<PlanView> {
  try {
    return await create(strategy);
  } catch (thrown) {
    if (!(thrown instanceof UnsupportedError) || others.length === 0) throw thrown;
    return await firstThatWorks(others, create);
  }
}

/** Closes the plan of a worktree that the agent gives back, unless there is work in it. */
export async function removeWorktree(drydock: Services, event: HookEvent): Promise<HookResult> {
  const { worktree_path: given } = event;
  if (given === undefined) throw noEvent("worktree_path is missing");
  const path = realPathOf(given) ?? given;
  const open = await drydock.plans.list({ labels: { [WORKTREE]: true } });
  const plan = open.find((candidate) => isIn(path, candidate));
  if (plan === undefined)
    return {
      outcome: "nothing",
      note: `No open plan has its worktree at ${displayPath(given)}; nothing was removed.`,
    };
  const { id } = plan;
  const changes = await closeUnlessWork(drydock, id);
  if (changes === 0) return { outcome: "cancelled", planId: id };
  return {
    ...{ outcome: "kept", planId: id },
    note: `Plan ${id} keeps its work (${changes === 1 ? "1 change" : `${changes} changes`}): see 'drydock diff ${id}', then 'drydock apply ${id}' or 'drydock plan cancel ${id}'.`,
  };
}

/**
 * Closes the worktrees that a session has left without work. Claude Code gives back no worktree of a
 * subagent. One in which the session itself was stays, because a session can be taken up again.
 */
export async function endSession(drydock: Services, event: HookEvent): Promise<HookResult> {
  const { session_id: session, cwd } = event;
  if (session === undefined) return { outcome: "nothing" };
  const open = await drydock.plans.list({ labels: { [WORKTREE]: true, [SESSION]: session } });
  const folder = realPathOf(cwd) ?? cwd;
  for (const plan of open.filter((candidate) => !isIn(folder, candidate)))
    await closeUnlessWork(drydock, plan.id);
  return { outcome: "nothing" };
}

/** Whether a folder is in a sandbox of a plan. */
export function isIn(folder: string, { resources }: PlanView): boolean {
  return resources.some(({ path }) => path !== null && isAtOrBelow(folder, path));
}

/** Cancels a plan in which nothing changed; says how much changed. */
async function closeUnlessWork(drydock: Services, id: string): Promise<number> {
  let changes = 0;
  await drydock.plans.diff(id, { onChange: () => (changes += 1) });
  if (changes === 0) await drydock.plans.cancel(id);
  return changes;
}
