import { effect, signal } from "@preact/signals";
import { events, leave, listPlans, openSession } from "../api/server.ts";
import type { Change, Plan, PlanEvent, ReviewSession, Vote } from "../api/types.ts";
import { type Listed, voteOn } from "./change-list.ts";
import { wordOnHunk } from "./hunks.ts";
import { followAddress, go, place } from "./place.ts";
import { PlanModel } from "./plan-model.ts";

/** What all of the page shares. */
export const session = signal<ReviewSession | undefined>(undefined);
/** Why the page can't go on. */
export const failure = signal<string | undefined>(undefined);
/** What the user decided; the command has ended then. */
export const decided = signal<string | undefined>(undefined);
export const plans = signal<readonly Plan[] | undefined>(undefined);
export const model = signal<PlanModel | undefined>(undefined);
/** Said once, below: what was done, or why it could not be. */
export const said = signal<{ readonly text: string; readonly isProblem: boolean } | undefined>(undefined);

/** How long the page waits before it connects again. */
const AGAIN_MS = 1000;

/** Opens the review, and shows what happens to it from now on. */
export async function open(): Promise<void> {
  try {
    const found = await openSession();
    session.value = found;
    followAddress();
    if (location.hash === "" && found.plan !== null) go({ page: "plan", plan: found.plan, tab: "changes" });
  } catch (thrown) {
    failure.value = messageOf(thrown);
    return;
  }
  addEventListener("pagehide", () => {
    if (decided.value === undefined) leave();
  });
  effect(() => showModel());
  await readPlans();
  void follow();
}

/** Does something for the user: says the text that comes of it, or why it failed. */
export async function attempt(work: () => Promise<unknown>): Promise<boolean> {
  try {
    const text = await work();
    if (typeof text === "string") said.value = { text, isProblem: false };
    return true;
  } catch (thrown) {
    said.value = { text: messageOf(thrown), isProblem: true };
    return false;
  }
}

/** Says a word on changes, or takes it back if it is said already. */
export async function say(of: PlanModel, items: readonly Listed[], word: Vote): Promise<void> {
  const wanted = voteOn(items) === word ? "none" : word;
  await attempt(async () => {
    await of.vote(items, wanted);
    return undefined;
  });
}

/** Says a word on one hunk, or takes it back if it is said already. */
export async function sayOfHunk(of: PlanModel, change: Change, hunk: string, word: Vote): Promise<void> {
  const wanted = wordOnHunk(change, hunk) === word ? "none" : word;
  await attempt(async () => {
    await of.voteOnHunk(change, hunk, wanted);
    return undefined;
  });
}

export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

async function readPlans(): Promise<void> {
  await attempt(async () => {
    plans.value = await listPlans();
    return undefined;
  });
}

/** The model of the plan that the window is at. */
function showModel(): void {
  const wanted = place.value.page === "plan" ? place.value.plan : undefined;
  const known = model.peek();
  if (known?.id === wanted) return;
  known?.close();
  const made = wanted === undefined ? undefined : new PlanModel(wanted);
  model.value = made;
  void made?.load();
}

async function follow(): Promise<void> {
  let after = "now";
  while (decided.value === undefined) {
    try {
      for await (const event of events(after, new AbortController().signal)) {
        after = event.cursor;
        tell(event);
      }
    } catch (thrown) {
      failure.value = decided.value === undefined ? messageOf(thrown) : undefined;
    }
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    // What happened meanwhile is told by the server behind the last event, or read again.
    if (after === "now") void model.value?.load();
  }
}

/** Only these change what the list of plans shows. */
const OF_LISTS: ReadonlySet<string> = new Set([
  ...["created", "applied", "part applied", "undone", "cancelled", "abandoned"],
  ...["review asked", "approved", "changes asked"],
]);

function tell(event: PlanEvent): void {
  failure.value = undefined;
  if (model.value?.id === event.planId) model.value.tell(event);
  if (OF_LISTS.has(event.event)) void readPlans();
}
