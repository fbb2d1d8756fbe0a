import { advance } from "../core/commit-machine.ts";
import { messageOf, UsageError } from "../core/errors.ts";
import { isOver, movePlan, type PlanRecord, type PlanState } from "../core/plan.ts";
import type { SandboxRecord } from "../core/sandbox.ts";
import { moveSandbox } from "../core/sandbox-states.ts";
import type { TransactionRecord } from "../core/transaction.ts";
import { type Claims, originalKey, planKey } from "../sandboxes/claims.ts";
import { type KnownPlace, placesOf } from "../sandboxes/known-places.ts";
import type { PlanRemains } from "../sandboxes/plan-remains.ts";
import type { PlanSandboxes } from "../sandboxes/plan-sandboxes.ts";
import type { HistoryEntry, Store, StoreChange } from "../store/store.ts";
import { isThere } from "../system/existence.ts";
import { MountTable } from "../system/mount-table.ts";
import { type AbandonedOriginal, originalOf } from "./abandoned-original.ts";

/** What a person is told, and the plan's log keeps, of a plan that was ended without being settled. */
export interface AbandonReport {
  readonly planId: string;
  readonly planName: string;
  /** What the plan is now: what has landed as a whole stays applied or undone. */
  readonly state: PlanState;
  readonly resources: readonly AbandonedResource[];
}

export type AbandonedResource = AbandonedOriginal & {
  readonly resource: string;
  readonly location: string;
  /** Folders, mounts, branches and transactions that may still be there. `cleanup scan` lists them. */
  readonly left: readonly KnownPlace[];
};

export interface AbandonmentParts {
  readonly store: Store;
  readonly claims: Claims;
  readonly sandboxes: PlanSandboxes;
  readonly now: () => Date;
  readonly history: (planId: string, event: string, details: HistoryEntry["details"]) => HistoryEntry;
  /** Refuses a plan inside which a command runs. */
  readonly assertUnused: (plan: PlanRecord) => void;
  readonly remains: PlanRemains;
}

/** A sandbox of the plan that is there, and what is known of it. */
interface Item {
  readonly record: SandboxRecord;
  readonly report: AbandonedResource;
  /** A transaction holds it: it may have the only copy of something, and only a person may have it removed. */
  readonly isHeld: boolean;
}

/**
 * Ends a plan by a person's word, whatever can't be done to it: the original, the strategy or the sandbox may be gone.
 *
 * One durable write ends the plan and its transactions and keeps the report in its log; from then on it holds nothing and nobody waits for it.
 * Only then is removed what no transaction holds. A crash in between leaves that to `cleanup`, which knows all of it.
 */
export class Abandonment {
  readonly #parts: AbandonmentParts;

  constructor(parts: AbandonmentParts) {
    this.#parts = parts;
  }

  async abandon(known: PlanRecord): Promise<AbandonReport> {
    const { store, claims } = this.#parts;
    const keys = [planKey(known.id), ...known.resources.map(({ resource }) => originalKey(resource.location))];
    return await claims.holding(keys, `The plan ${known.name} or one of its originals`, async () =>
      this.#end((await store.plan(known.id)) ?? known),
    );
  }

  async #end(plan: PlanRecord): Promise<AbandonReport> {
    const { store, assertUnused, remains } = this.#parts;
    assertUnused(plan);
    const transactions = await store.transactionsOf(plan.id);
    if (isOver(plan) && !transactions.some(isWaiting)) throw nothingToEnd(plan);
    const state = isOver(plan) ? plan.state : movePlan(plan, "abandoned");
    const items = await this.#items(plan, transactions.find(isUnfinished));
    const report: AbandonReport = { planId: plan.id, planName: plan.name, state, resources: reportsOf(items) };
    await store.write(await this.#decision({ ...plan, state }, transactions, items, report), "durable");
    await remains.forget(plan.id);
    return isOver(plan) ? report : await this.#tidy(report, items);
  }

  async #items(plan: PlanRecord, unfinished: TransactionRecord | undefined): Promise<readonly Item[]> {
    const { store, sandboxes } = this.#parts;
    const intents = Map.groupBy(await store.intents(), ({ sandboxId }) => sandboxId);
    const items: Item[] = [];
    for (const record of await store.sandboxesOf(plan.id)) {
      const { sandboxId, resourceId } = record.ref;
      const found = plan.resources.find(({ resource }) => resource.id === resourceId)?.resource;
      const participant = unfinished?.participants.find(({ ref }) => ref.sandboxId === sandboxId);
      const isInPlace = await sandboxes.worksInPlace(record.ref);
      const { isHeld, ...original } = originalOf(unfinished, participant, isInPlace);
      const places = placesOf(record, intents.get(sandboxId) ?? []);
      const report: AbandonedResource = {
        resource: found?.name ?? resourceId,
        location: found?.location ?? "",
        ...original,
        left: record.state === "CLEANED_UP" ? [] : places.filter(mayBeThere),
      };
      items.push({ record, report, isHeld });
    }
    return items;
  }

  /** Everything that ends with the plan, at one instant. */
  async #decision(
    plan: PlanRecord,
    transactions: readonly TransactionRecord[],
    items: readonly Item[],
    report: AbandonReport,
  ): Promise<readonly StoreChange[]> {
    const { store, history, now } = this.#parts;
    const isEnded = plan.state === "abandoned";
    const checkpoints = isEnded ? await store.checkpointsOf(plan.id) : [];
    return [
      { put: "plan", record: plan },
      ...transactions.flatMap((record) => ended(record, items, now().toISOString(), isEnded)),
      ...checkpoints.map(({ id }): StoreChange => ({ drop: "checkpoint", id })),
      ...items.flatMap((item) => (isEnded ? marked(item) : [])),
      { put: "history", record: history(plan.id, "abandoned", { resources: [...report.resources] }) },
    ];
  }

  /** What no transaction holds goes as with a cancel. What can't be removed is known to the cleanup, and is added to the log. */
  async #tidy(report: AbandonReport, items: readonly Item[]): Promise<AbandonReport> {
    const { store, sandboxes, history } = this.#parts;
    const resources: AbandonedResource[] = [];
    const whys: { resource: string; message: string }[] = [];
    for (const { record, report: item, isHeld } of items) {
      const now = await store.sandbox(record.ref.sandboxId);
      if (isHeld || now === undefined || now.state === "CLEANED_UP") {
        resources.push(item);
        continue;
      }
      try {
        await sandboxes.cleanupSandbox(now);
        // What has landed of it earlier, in parts, is in a folder that stays.
        resources.push({ ...item, left: item.left.filter((place) => isPath(place) && mayBeThere(place)) });
      } catch (thrown) {
        whys.push({ resource: item.resource, message: messageOf(thrown) });
        resources.push({ ...item, left: item.left.filter(mayBeThere) });
      }
    }
    if (whys.length > 0)
      await store.write([{ put: "history", record: history(report.planId, "not removed", { left: whys }) }], "ordered");
    return { ...report, resources };
  }
}

/** What a transaction becomes; what is over stays so, but nothing of an abandoned plan waits to be undone. */
function ended(
  record: TransactionRecord,
  items: readonly Item[],
  at: string,
  isEnded: boolean,
): readonly StoreChange[] {
  if (isUnfinished(record)) {
    const whys = new Map(
      record.participants.flatMap(({ ref }, index) => {
        const item = items.find((candidate) => candidate.record.ref.sandboxId === ref.sandboxId);
        return item?.isHeld ? [[index, item.report.message] as const] : [];
      }),
    );
    return [{ put: "transaction", record: advance(record, { was: "abandoned", at, whys }) }];
  }
  const isKept = record.direction === "commit" && record.phase === "done" && record.undoRecord === undefined;
  if (!isDiscarding(record) && !(isEnded && isKept)) return [];
  return [{ put: "transaction", record: { ...record, undoRecord: "discarded" } }];
}

/** A sandbox that stays is never used again. One whose creation died would keep every start looking for it. */
function marked({ record, report, isHeld }: Item): readonly StoreChange[] {
  const { ref, state } = record;
  if (state === "CLEANED_UP" || (!isHeld && state !== "PENDING")) return [];
  const error = `its plan was abandoned: ${report.message}`;
  return [{ put: "sandbox", record: { ...record, state: moveSandbox(ref.sandboxId, state, "ERRORED"), error } }];
}

function reportsOf(items: readonly Item[]): readonly AbandonedResource[] {
  return items.map(({ report }) => report);
}

function isUnfinished({ phase }: TransactionRecord): boolean {
  return phase !== "done" && phase !== "aborted";
}

function isDiscarding({ undoRecord }: TransactionRecord): boolean {
  return undoRecord === "discarding";
}

/** Whether every start tries once more to settle something of it. */
function isWaiting(record: TransactionRecord): boolean {
  return isUnfinished(record) || isDiscarding(record);
}

function isPath({ location }: KnownPlace): boolean {
  return location.startsWith("/");
}

/** Of what is no path nobody here can tell. */
function mayBeThere(place: KnownPlace): boolean {
  if (!isPath(place)) return true;
  if (place.kind !== "mount") return isThere(place.location);
  return MountTable.read().at(place.location)?.point === place.location;
}

function nothingToEnd({ name, state }: PlanRecord): UsageError {
  return new UsageError(`The plan ${name} is ${state}: there is nothing to abandon.`, {
    hint: "'drydock cleanup scan' lists what is left of plans that are over.",
  });
}
