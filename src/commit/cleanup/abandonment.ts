import { advance } from "../../core/commit-machine.ts";
import { BusyError, DrydockError, messageOf, UsageError } from "../../core/errors/errors.ts";
import { isOver, movePlan, type PlanRecord, type PlanState, resourceById } from "../../core/plan.ts";
import type { SandboxRecord, SandboxRef } from "../../core/sandbox.ts";
import { moveSandbox } from "../../core/sandbox-states.ts";
import { isUnfinished, type TransactionRecord } from "../../core/transaction.ts";
import type { PlanSession } from "../../sandboxes/access/plan-session.ts";
import { type KnownPlace, placesOf } from "../../sandboxes/remains/known-places.ts";
import type { StoreChange } from "../../store/store.ts";
import { isBuiltIn } from "../../strategies/registered-strategy.ts";
import { isThere } from "../../system/data/existence.ts";
import { MountTable } from "../../system/mount/mount-table.ts";
import { type AbandonedOriginal, originalOf } from "./abandoned-original.ts";

/** The report on an abandoned plan, which the user sees and the plan's log keeps. */
export interface AbandonReport {
  readonly planId: string;
  readonly planName: string;
  /** The state of the plan now: one that has landed as a whole stays applied or undone. */
  readonly state: PlanState;
  readonly resources: readonly AbandonedResource[];
}

export type AbandonedResource = AbandonedOriginal & {
  readonly resource: string;
  readonly location: string;
  /** Folders, mounts, branches and transactions that may still exist. `cleanup scan` lists them. */
  readonly left: readonly KnownPlace[];
};

/** How a plan has ended. */
interface End {
  readonly report: AbandonReport;
  readonly items: readonly Item[];
}

/** A sandbox of the plan, with its part of the report. */
interface Item {
  readonly record: SandboxRecord;
  readonly report: AbandonedResource;
  /** A transaction holds it: it may have the only copy of something, so only a person may remove it. */
  readonly isHeld: boolean;
}

/**
 * A transaction over hosts, which holds the plan and its originals itself until it is over. `end` writes
 * changes, of which one is its record, and says whether it still was as in `before`: else it writes nothing.
 */
export interface HeldTransaction {
  readonly id: string;
  end(
    before: TransactionRecord,
    record: TransactionRecord,
    changes: readonly StoreChange[],
  ): Promise<boolean>;
}

/**
 * Ends a plan by a person's word, even if its original, its strategy, its sandbox or its host is gone. In
 * this order:
 *
 * 1. One durable write ends the plan and its transactions, and puts the report into its log. From here on the
 *    plan holds nothing and blocks no other.
 * 2. The sandboxes that no transaction holds are removed. After a crash `cleanup` does that, which knows all
 *    of them.
 */
export class Abandonment {
  readonly #session: PlanSession;
  readonly #held: HeldTransaction | undefined;

  constructor(session: PlanSession, held?: HeldTransaction) {
    this.#session = session;
    this.#held = held;
  }

  async abandon(key: string): Promise<AbandonReport> {
    const { plans } = this.#session;
    if (this.#held === undefined)
      return await plans.withOriginals(key, async (plan) => this.#removed(plan, await this.#ended(plan)));
    const plan = await plans.find(key);
    const end = await this.#ended(plan);
    return await plans.withOriginals(plan.id, () => this.#removed(plan, end));
  }

  async #removed(plan: PlanRecord, { report, items }: End): Promise<AbandonReport> {
    return isOver(plan) ? report : await this.#tidy(report, items);
  }

  async #ended(plan: PlanRecord): Promise<End> {
    const { store, sandboxes, remains } = this.#session;
    sandboxes.assertUnused(plan);
    const transactions = await store.transactionsOf(plan.id);
    if (isOver(plan) && !transactions.some(isWaiting)) throw nothingToEnd(plan);
    const state = isOver(plan) ? plan.state : movePlan(plan, "abandoned");
    const items = await this.#items(plan, transactions.find(isUnfinished));
    const report: AbandonReport = {
      planId: plan.id,
      planName: plan.name,
      state,
      resources: reportsOf(items),
    };
    await this.#write(transactions, await this.#decision({ ...plan, state }, transactions, items, report));
    await remains.forget(plan.id);
    return { report, items };
  }

  async #write(transactions: readonly TransactionRecord[], changes: readonly StoreChange[]): Promise<void> {
    const { store } = this.#session;
    const held = this.#held;
    const before = transactions.find(({ id }) => id === held?.id);
    const record = changes
      .flatMap((change) => ("put" in change && change.put === "transaction" ? change.record : []))
      .find(({ id }) => id === held?.id);
    if (held === undefined || before === undefined || record === undefined)
      return await store.write(changes, "durable");
    if (await held.end(before, record, changes)) return;
    throw new BusyError("The transaction of this plan has just moved on.", {
      holder: "another host of the fleet",
      hint: "Look at the plan, and try again if need be.",
    });
  }

  /** Of a host that is away only the name of the strategy is known here. */
  async #worksInPlace(ref: SandboxRef): Promise<boolean> {
    try {
      return await this.#session.sandboxes.worksInPlace(ref);
    } catch (thrown) {
      if (!(thrown instanceof DrydockError && thrown.code === "HOST_AWAY")) throw thrown;
      return ref.strategyName === "none" || !isBuiltIn(ref.strategyName);
    }
  }

  async #items(plan: PlanRecord, unfinished: TransactionRecord | undefined): Promise<readonly Item[]> {
    const { store } = this.#session;
    const intents = Map.groupBy(await store.intents(), ({ sandboxId }) => sandboxId);
    const items: Item[] = [];
    for (const record of await store.sandboxesOf(plan.id)) {
      const { sandboxId, resourceId } = record.ref;
      const found = resourceById(plan, resourceId);
      const participant = unfinished?.participants.find(({ ref }) => ref.sandboxId === sandboxId);
      const isInPlace = await this.#worksInPlace(record.ref);
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

  /** Everything that ends with the plan, in one write. */
  async #decision(
    plan: PlanRecord,
    transactions: readonly TransactionRecord[],
    items: readonly Item[],
    report: AbandonReport,
  ): Promise<readonly StoreChange[]> {
    const { store, history, now } = this.#session;
    const isEnded = plan.state === "abandoned";
    const checkpoints = isEnded ? await store.checkpointsOf(plan.id) : [];
    return [
      { put: "plan", record: plan },
      ...transactions.flatMap((record) => ended(record, items, now().toISOString(), isEnded)),
      ...checkpoints.map(({ id }): StoreChange => ({ drop: "checkpoint", id })),
      ...items.flatMap((item) => (isEnded ? marked(item) : [])),
      history.entry(plan.id, "abandoned", { resources: [...report.resources] }),
    ];
  }

  /**
   * Removes the sandboxes that no transaction holds. Failures are logged, and cleanup knows these sandboxes.
   */
  async #tidy(report: AbandonReport, items: readonly Item[]): Promise<AbandonReport> {
    const { store, history, sandboxes } = this.#session;
    const resources: AbandonedResource[] = [];
    const whys: { resource: string; message: string }[] = [];
    for (const { record, report: item, isHeld } of items) {
      const now = await store.sandbox(record.ref.sandboxId);
      if (isHeld || now === undefined || now.state === "CLEANED_UP") {
        resources.push(item);
        continue;
      }
      try {
        await sandboxes.removal.remove(now, "nothing");
        // Parts that landed earlier have their undo record in a folder that stays.
        resources.push({ ...item, left: item.left.filter((place) => isPath(place) && mayBeThere(place)) });
      } catch (thrown) {
        whys.push({ resource: item.resource, message: messageOf(thrown) });
        resources.push({ ...item, left: item.left.filter(mayBeThere) });
      }
    }
    if (whys.length > 0) await history.note(report.planId, "not removed", { left: whys });
    return { ...report, resources };
  }
}

/** The end of a transaction. One that is over stays so, but an abandoned plan can't be undone. */
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

/** A sandbox that stays is never used again; and every start would look for a PENDING one. */
function marked({ record, report, isHeld }: Item): readonly StoreChange[] {
  const { ref, state } = record;
  if (state === "CLEANED_UP" || (!isHeld && state !== "PENDING")) return [];
  const error = `its plan was abandoned: ${report.message}`;
  return [
    { put: "sandbox", record: { ...record, state: moveSandbox(ref.sandboxId, state, "ERRORED"), error } },
  ];
}

function reportsOf(items: readonly Item[]): readonly AbandonedResource[] {
  return items.map(({ report }) => report);
}

function isDiscarding({ undoRecord }: TransactionRecord): boolean {
  return undoRecord === "discarding";
}

/** Whether every start would go on with it. */
function isWaiting(record: TransactionRecord): boolean {
  return isUnfinished(record) || isDiscarding(record);
}

function isPath({ location }: KnownPlace): boolean {
  return location.startsWith("/");
}

/** Only paths can be looked for here; any other place may exist. */
function mayBeThere(place: KnownPlace): boolean {
  if (!isPath(place)) return true;
  if (place.kind !== "mount") return isThere(place.location);
  return MountTable.read().at(place.location)?.point === place.location;
}

function nothingToEnd({ name, state }: PlanRecord): UsageError {
  return new UsageError(`The plan ${name} is ${state}: there is nothing to abandon.`, {
    hint: "A cleanup scan lists the leftovers of plans that are over.",
  });
}
