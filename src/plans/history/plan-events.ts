import { setTimeout as sleep } from "node:timers/promises";
import { UsageError } from "../../core/errors/errors.ts";
import type { PlanEvent } from "../../core/values/plan-events.ts";
import type { Session } from "../../sandboxes/access/session.ts";
import type { NumberedEntry, Store } from "../../store/store.ts";
import type { EventsOptions } from "../plan-views.ts";

/**
 * The events of all plans, whichever process caused them: the history, told in its order, and then as it
 * grows. An event is told once, and none is left out.
 *
 * A cursor is the place of an entry in the history and the time of that entry. The time tells a cursor of
 * another state directory, or of an entry that a power cut took away and whose place another one has now.
 */

/** How often to look for new entries. A look that finds none is one step into an index. */
const LOOK_MS = 200;
const PAGE = 200;

const CURSOR = /^(\d{1,15})-([0-9a-z]{1,12})$/;

/** Finds the place to begin at. The events then go on until the signal or `closed` ends them. */
export async function planEvents(
  { plans, store }: Session,
  { plan, after, signal }: EventsOptions,
  closed: AbortSignal,
): Promise<AsyncGenerator<PlanEvent>> {
  const over = signal === undefined ? closed : AbortSignal.any([closed, signal]);
  const planId = plan === undefined || over.aborted ? undefined : (await plans.find(plan)).id;
  const place = over.aborted ? 0 : await placeOf(store, after);
  return eventsBehind(store, { place, planId }, over);
}

interface Beginning {
  readonly place: number;
  readonly planId: string | undefined;
}

async function* eventsBehind(
  store: Store,
  { place, planId }: Beginning,
  over: AbortSignal,
): AsyncGenerator<PlanEvent> {
  let seq = place;
  while (!over.aborted) {
    const page = await store.historyAfter(seq, { planId, limit: PAGE });
    for (const item of page) {
      if (over.aborted) return;
      seq = item.seq;
      yield eventOf(item);
    }
    if (page.length === 0) await pause(over);
  }
}

function eventOf(item: NumberedEntry): PlanEvent {
  return { cursor: cursorOf(item), ...item.entry } as PlanEvent;
}

function cursorOf({ seq, entry }: NumberedEntry): string {
  return `${seq}-${Date.parse(entry.at).toString(36)}`;
}

/** The place behind which a cursor goes on. */
async function placeOf(store: Store, cursor: string | undefined): Promise<number> {
  if (cursor === undefined) return 0;
  if (cursor === "now") return await store.historyEnd();
  const [, seq] = CURSOR.exec(cursor) ?? [];
  if (seq === undefined)
    throw new UsageError("This is no cursor of an event.", {
      hint: "Give the `cursor` of an event, or `now`.",
      code: "BAD_ARGUMENT",
    });
  const found = await store.historyAt(Number(seq));
  // An entry goes with its plan when that is over for long.
  const isGone = found === undefined && Number(seq) <= (await store.historyEnd());
  if (!isGone && (found === undefined || cursorOf(found) !== cursor))
    throw new UsageError("The history has no such event any more, or never had it.", {
      hint: "Begin anew, without a cursor.",
      code: "STALE_CURSOR",
    });
  return Number(seq);
}

async function pause(over: AbortSignal): Promise<void> {
  try {
    await sleep(LOOK_MS, undefined, { signal: over });
  } catch (thrown) {
    if (!over.aborted) throw thrown;
  }
}
