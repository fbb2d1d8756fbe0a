import { effect, signal } from "@preact/signals";
import { CallError } from "../api/calls.ts";
import { events, leave, listPlans, openSession } from "../api/server.ts";
import type { Change, Plan, PlanEvent, ReviewSession, Vote } from "../api/types.ts";
import { type Listed, voteOn } from "./change-list.ts";
import { wordOnHunk } from "./hunks.ts";
import { PlanModel } from "./plan-model.ts";
import { followAddress, go, place } from "./route.ts";

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
  // First of all, so that nothing happens unheard between what is read and what is told.
  await new Promise<void>((resolve) => void follow(resolve));
  effect(() => showModel());
  await readPlans();
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

function messageOf(thrown: unknown): string {
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

/** Hears of everything that happens, also after the connection was lost. Says when it has tried first. */
async function follow(onTried: () => void): Promise<void> {
  let after = "now";
  const onOpen = () => {
    failure.value = undefined;
    // Without a place to go on behind, what happened meanwhile is read.
    if (after === "now") readAgain();
    onTried();
  };
  while (decided.value === undefined) {
    try {
      for await (const event of events(after, onOpen)) {
        after = event.cursor;
        tell(event);
      }
    } catch (thrown) {
      if (thrown instanceof CallError && thrown.problem?.code === "STALE_CURSOR") after = "now";
      failure.value = decided.value === undefined ? messageOf(thrown) : undefined;
      onTried();
    }
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
}

/** Reads what is shown again; nothing as long as nothing is. */
function readAgain(): void {
  void model.value?.load();
  if (plans.value !== undefined) void readPlans();
}

/**
 * What to show of a reading that failed. The server refuses what has moved since the page read it: then the
 * plan is read again, and the view with it.
 */
export function failedReading(thrown: unknown): string {
  if (thrown instanceof CallError && thrown.problem !== undefined) void model.value?.load();
  return messageOf(thrown);
}

/** Only these change what the list of plans shows. */
const OF_LISTS: ReadonlySet<string> = new Set([
  ...["created", "applied", "part applied", "undone", "cancelled", "abandoned"],
  ...["review asked", "approved", "changes asked"],
]);

function tell(event: PlanEvent): void {
  if (model.value?.id === event.planId) model.value.tell(event);
  if (OF_LISTS.has(event.event)) void readPlans();
}
