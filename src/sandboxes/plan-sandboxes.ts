import { joinPath, ROOT_PATH } from "../core/byte-path.ts";
import type { FullCapabilities } from "../core/capabilities.ts";
import { messageOf, PlanStateError, SandboxStateError, UsageError } from "../core/errors.ts";
import type { Owner } from "../core/owner.ts";
import { boundaryOf, type PlanRecord, type PlanResource } from "../core/plan.ts";
import { assertResourcePath } from "../core/resource-path.ts";
import type { SandboxRef } from "../core/sandbox.ts";
import { type SandboxRecord, sandboxIdFor } from "../core/sandbox.ts";
import { moveSandbox, type SandboxState, USABLE_STATES } from "../core/sandbox-states.ts";
import type { IntendedPlace } from "../core/strategy.ts";
import type { Store, StoreChange } from "../store/store.ts";
import { currentBootId } from "../system/process-identity.ts";
import type { CustomCalls } from "./custom-calls.ts";
import { GuardedStrategy } from "./guarded-strategy.ts";
import { KeptCheckpoints } from "./kept-checkpoints.ts";
import { isUnavailable, type SandboxStrategyRegistry } from "./registry.ts";
import type { SweepReport } from "./sweep-report.ts";

/** A sandbox that may be used now. */
export interface UsableSandbox {
  readonly record: SandboxRecord;
  readonly strategy: GuardedStrategy;
  /** Where a path inside of the resource is in the sandbox, which may be that of another resource around it. */
  pathOf(path: string): string;
}

/**
 * The sandboxes of plans: finds or makes them, sees that only legal moves happen, and does to all sandboxes of a plan what is done to
 * one. Whoever calls it for a plan holds the plan's claim; `SandboxManager` is the same for everybody else.
 */
export class PlanSandboxes {
  readonly #store: Store;
  readonly #registry: SandboxStrategyRegistry;
  readonly #now: () => Date;
  readonly #assertUnused: (plan: PlanRecord) => void;
  /** What is kept of earlier states of the sandboxes. */
  readonly checkpoints: KeptCheckpoints;

  /** `assertUnused` refuses what must not happen while a command runs inside a plan. */
  constructor(
    store: Store,
    registry: SandboxStrategyRegistry,
    now: () => Date,
    assertUnused: (plan: PlanRecord) => void,
  ) {
    this.#store = store;
    this.#registry = registry;
    this.#now = now;
    this.#assertUnused = assertUnused;
    this.checkpoints = new KeptCheckpoints(store, (name) => this.strategy(name));
  }

  /** The strategy that made a sandbox, or would make one. */
  strategy(name: string): GuardedStrategy {
    return new GuardedStrategy(name, (made) => this.#registry.resolve(name, made));
  }

  /** What that strategy can do. */
  async capabilities(name: string): Promise<FullCapabilities> {
    return (await this.#registry.resolve(name)).capabilities;
  }

  /** What that sandbox can do: what its strategy declares, unless it can do less itself. */
  async capabilitiesOf({ strategyName, capabilities, madeWith }: SandboxRef): Promise<FullCapabilities> {
    const declared = (await this.#registry.resolve(strategyName, madeWith ?? {})).capabilities;
    return { ...declared, ...capabilities, partial: declared.partial && capabilities?.partial !== false };
  }

  /** Whether a sandbox keeps something open outside of our folders. Of what can't be asked it is taken that it does not. */
  async holdsTransaction(ref: SandboxRef): Promise<boolean> {
    try {
      return (await this.capabilitiesOf(ref)).heldTransaction;
    } catch (thrown) {
      if (isUnavailable(thrown)) return false;
      throw thrown;
    }
  }

  /** Whether what is done to a sandbox is done to the original. Of what can't be asked it is taken that it is not. */
  async worksInPlace(ref: SandboxRef): Promise<boolean> {
    try {
      return (await this.capabilitiesOf(ref)).commit === "in-place";
    } catch (thrown) {
      if (isUnavailable(thrown)) return false;
      throw thrown;
    }
  }

  /**
   * What the user should know of a sandbox: also that its strategy can't be used. Without `load` strategies of the user's own are not asked.
   */
  async notes(ref: SandboxRef, { load = true }: { readonly load?: boolean } = {}): Promise<readonly string[]> {
    if (!load && !this.#registry.isAtHand(ref.strategyName)) return [];
    try {
      return await this.strategy(ref.strategyName).notes(ref);
    } catch (thrown) {
      if (isUnavailable(thrown)) return [`its strategy can't be used: ${messageOf(thrown)}`];
      if (await this.isOfBuiltIn(ref)) throw thrown;
      return [`its strategy can't say anything of it: ${messageOf(thrown)}`];
    }
  }

  /** Whether one of Drydock's own strategies made it. */
  async isOfBuiltIn({ strategyName, madeWith }: SandboxRef): Promise<boolean> {
    return (await this.#registry.resolve(strategyName, madeWith ?? {})).builtIn;
  }

  /** What the context's recordLoss does: the work of the sandbox is gone. */
  async recordLoss({ sandboxId }: SandboxRef, why: string, by?: CustomCalls): Promise<void> {
    const record = await this.#store.sandbox(sandboxId);
    if (record === undefined || record.state === "CLEANED_UP") return;
    await this.#assertOwn(record.ref, by);
    const state = moveSandbox(sandboxId, record.state, "ERRORED");
    await this.#store.write([{ put: "sandbox", record: { ...record, state, error: why } }], "ordered");
  }

  /** A strategy of the user's own may only speak of its own sandboxes. */
  async #assertOwn({ strategyName, madeWith }: SandboxRef, by: CustomCalls | undefined): Promise<void> {
    if (by === undefined || (await this.#registry.resolve(strategyName, madeWith ?? {})).custom === by) return;
    throw new UsageError("A loss is recorded for a sandbox of another strategy.", {
      hint: "Call recordLoss with a ref that was given to this strategy.",
      code: "FOREIGN_SANDBOX",
    });
  }

  /** The sandbox of a resource of a plan; made if it is not there. The same one however often it is asked for. */
  async getOrCreate(plan: PlanRecord, item: PlanResource): Promise<SandboxRecord> {
    const { resource, strategy } = boundaryOf(plan, item);
    const id = sandboxIdFor(plan.id, resource.id);
    const known = await this.#store.sandbox(id);
    if (known !== undefined && known.state !== "PENDING" && known.state !== "CLEANED_UP") return known;
    assertInMaking(plan);
    if (known?.state === "PENDING") await this.#cleanUp(known);
    const guarded = this.strategy(strategy);
    try {
      const ref = await guarded.create(plan.id, resource);
      return await this.#move((await this.#store.sandbox(id)) ?? this.#pending(ref), "CREATED", ref);
    } catch (thrown) {
      const left = await this.#store.sandbox(id);
      if (left?.state === "PENDING") await this.#cleanUp(left);
      throw thrown;
    }
  }

  /** What the context's recordIntent does: the sandbox is known before anything of it exists. */
  async recordIntent(ref: SandboxRef, places: readonly IntendedPlace[], owner: Owner): Promise<void> {
    const recordedAt = this.#now().toISOString();
    const intents: StoreChange[] = places.map(({ kind, location }) => ({
      put: "intent",
      record: { sandboxId: ref.sandboxId, planId: ref.planId, kind, location, recordedAt, owner },
    }));
    await this.#store.write([{ put: "sandbox", record: this.#pending(ref) }, ...intents], "durable");
  }

  /** A sandbox that may be used now, by the name of its resource. Using one whose work has landed or was thrown away begins new work. */
  async usable(plan: PlanRecord, name: string | undefined, purpose: "look" | "change"): Promise<UsableSandbox> {
    // Between two states there is nothing to be seen that anybody ever made.
    if (plan.state === "restoring") throw new PlanStateError(plan, "open");
    const item = resourceOf(plan, name);
    const found = boundaryOf(plan, item);
    const record = await this.#store.sandbox(sandboxIdFor(plan.id, found.resource.id));
    if (record === undefined || !USABLE_STATES.includes(record.state)) {
      throw new SandboxStateError(
        `The sandbox of ${item.resource.name} is ${record?.state ?? "not there"}${record?.error === undefined ? "" : `: ${record.error}`}.`,
        {
          from: record?.state ?? "CLEANED_UP",
          to: "ACTIVE",
          hint: record?.state === "PREPARED" ? "The plan is being applied; wait for that." : "Make a new plan.",
        },
      );
    }
    const strategy = this.strategy(found.strategy);
    await strategy.assertUsable(record.ref);
    const now = purpose === "change" ? await this.#move(record, "ACTIVE") : record;
    return { record: now, strategy, pathOf: (path) => pathWithin(item, path) };
  }

  /** Refuses a plan whose sandboxes somebody has in his hands: a commit, or a command that runs inside. */
  assertFree(plan: PlanRecord): void {
    assertNotHeld(plan);
    this.#assertUnused(plan);
  }

  /** Throws the work of every sandbox away; where it had landed, the original is restored. Checkpoints end with the work. */
  async rollbackAll(plan: PlanRecord): Promise<SweepReport> {
    this.assertFree(plan);
    return await this.checkpoints.ending(plan.id, () =>
      this.#sweep(plan, async (record, strategy) => {
        if (record.state === "PENDING" || record.state === "CLEANED_UP") return;
        moveSandbox(record.ref.sandboxId, record.state, "ROLLED_BACK");
        await strategy.rollback(record.ref);
        await this.#move(record, "ROLLED_BACK");
      }),
    );
  }

  /** Removes every sandbox. */
  async cleanupAll(plan: PlanRecord): Promise<SweepReport> {
    this.assertFree(plan);
    return await this.checkpoints.ending(plan.id, () => this.#sweep(plan, async (record) => this.#cleanUp(record)));
  }

  /** Removes one sandbox, or once more what is left of one that was removed. The caller has made sure that nobody needs it. */
  async cleanupSandbox(record: SandboxRecord): Promise<void> {
    if (record.state !== "CLEANED_UP") return await this.#cleanUp(record);
    await this.strategy(record.ref.strategyName).cleanup(record.ref);
    await this.#store.write([{ drop: "intents", sandboxId: record.ref.sandboxId }], "ordered");
  }

  /** Removes sandboxes whose creation died with its process. The caller has made sure that nobody living works on the plan. */
  async cleanupAbandoned(plan: PlanRecord): Promise<SweepReport> {
    return await this.#sweep(plan, async (record) => {
      if (record.state === "PENDING") await this.#cleanUp(record);
    });
  }

  async #sweep(
    plan: PlanRecord,
    action: (record: SandboxRecord, strategy: GuardedStrategy) => Promise<void>,
  ): Promise<SweepReport> {
    const done: string[] = [];
    const failed: SweepReport["failed"][number][] = [];
    for (const record of await this.#store.sandboxesOf(plan.id)) {
      const resource =
        plan.resources.find((candidate) => candidate.resource.id === record.ref.resourceId)?.resource.name ??
        record.ref.resourceId;
      try {
        await action(record, this.strategy(record.ref.strategyName));
        done.push(resource);
      } catch (cause) {
        const isGone = await this.#isOutOfReach(record.ref, cause);
        failed.push({ resource, message: messageOf(cause), cause, ...(isGone && { outOfReach: record.ref }) });
      }
    }
    return { done, failed };
  }

  /** Whether nobody here can do anything to a sandbox: its strategy is missing, or is another one and failed on it. */
  async #isOutOfReach(ref: SandboxRef, cause: unknown): Promise<boolean> {
    if (isUnavailable(cause)) return true;
    return ref.madeWith !== undefined && (await this.strategy(ref.strategyName).isOtherVersion(ref));
  }

  async #cleanUp(record: SandboxRecord): Promise<void> {
    if (record.state === "CLEANED_UP") return;
    const state = moveSandbox(record.ref.sandboxId, record.state, "CLEANED_UP");
    await this.strategy(record.ref.strategyName).cleanup(record.ref);
    await this.#store.write(
      [
        { put: "sandbox", record: { ...record, state } },
        { drop: "intents", sandboxId: record.ref.sandboxId },
      ],
      "ordered",
    );
  }

  async #move(record: SandboxRecord, to: SandboxState, ref: SandboxRef = record.ref): Promise<SandboxRecord> {
    if (record.state === to) return record;
    const moved: SandboxRecord = { ...record, ref, state: moveSandbox(ref.sandboxId, record.state, to) };
    await this.#store.write([{ put: "sandbox", record: moved }], "ordered");
    return moved;
  }

  #pending(ref: SandboxRef): SandboxRecord {
    return { ref, state: "PENDING", createdAt: this.#now().toISOString(), bootId: currentBootId() };
  }
}

function pathWithin({ within }: PlanResource, path: string): string {
  if (within === undefined) return path;
  const checked = assertResourcePath(path);
  return checked === ROOT_PATH ? within.path : joinPath(within.path, checked);
}

/** A plan that is over has no new sandboxes: what is left of the old ones may be all that can take it back. */
function assertInMaking(plan: PlanRecord): void {
  if (plan.state === "creating" || plan.state === "open") return;
  throw new PlanStateError(plan, "open");
}

/** A sandbox that a commit holds is the commit's. */
function assertNotHeld(plan: PlanRecord): void {
  if (plan.state === "applying" || plan.state === "undoing") throw new PlanStateError(plan, "open");
}

/** The resource of a plan that has this name; without a name the only one. */
export function resourceOf(plan: PlanRecord, name: string | undefined): PlanResource {
  if (name === undefined) return onlyResource(plan);
  const found = plan.resources.find(({ resource }) => resource.name === name);
  if (found !== undefined) return found;
  throw new UsageError(`The plan ${plan.name} has no resource called '${name}'.`, {
    hint: `Its resources are ${plan.resources.map(({ resource }) => resource.name).join(", ")}.`,
    code: "UNKNOWN_RESOURCE",
  });
}

function onlyResource(plan: PlanRecord): PlanResource {
  const [first, ...others] = plan.resources;
  if (first !== undefined && others.length === 0) return first;
  throw new UsageError(`The plan ${plan.name} has several resources.`, {
    hint: `Name one of ${plan.resources.map(({ resource }) => resource.name).join(", ")}.`,
  });
}
