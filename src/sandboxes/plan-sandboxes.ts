import type { FullCapabilities } from "../core/capabilities.ts";
import { messageOf, PlanStateError, SandboxStateError, UsageError } from "../core/errors/errors.ts";
import { joinPath, ROOT_PATH } from "../core/paths/byte-path.ts";
import { boundaryOf, type PlanRecord, type PlanResource, resourceById } from "../core/plan.ts";
import { splitHost } from "../core/resource/host-location.ts";
import { assertResourcePath } from "../core/resource/resource.ts";
import type { SandboxRef } from "../core/sandbox.ts";
import { type SandboxRecord, sandboxIdFor } from "../core/sandbox.ts";
import { moveSandbox, type SandboxState, USABLE_STATES } from "../core/sandbox-states.ts";
import type { Store } from "../store/store.ts";
import type { GuardedStrategy } from "../strategies/custom/guarded-strategy.ts";
import { isUnavailable, type SandboxStrategyRegistry } from "../strategies/registry.ts";
import type { Session } from "./access/session.ts";
import { CheckpointRemoval } from "./checkpoint-removal.ts";
import { CommandHold } from "./remains/command-hold.ts";
import type { Use, Uses } from "./remains/uses.ts";
import { SandboxRemoval } from "./sandbox-removal.ts";
import { pendingSandbox } from "./sandbox-reports.ts";
import type { SweepReport } from "./sweep-report.ts";

/** A sandbox that may be used now. */
export interface UsableSandbox {
  readonly record: SandboxRecord;
  readonly strategy: GuardedStrategy;
  /**
   * The path in the sandbox for a path inside the resource; the sandbox may be that of a resource around it.
   */
  pathOf(path: string): string;
  /** The path inside the resource for a path in the sandbox. */
  pathFrom(path: string): string;
}

/**
 * The sandboxes of plans: finds or makes them, allows only legal moves, and runs operations on all sandboxes
 * of a plan. Callers hold the plan's claim; `SandboxManager` offers the same to programs.
 */
export class PlanSandboxes {
  readonly #store: Store;
  readonly #registry: SandboxStrategyRegistry;
  readonly #uses: Uses;
  readonly #now: () => Date;
  readonly hold: CommandHold;
  readonly removal: SandboxRemoval;
  readonly checkpoints: CheckpointRemoval;

  constructor(session: Session, registry: SandboxStrategyRegistry, uses: Uses) {
    this.#store = session.store;
    this.#registry = registry;
    this.#uses = uses;
    this.#now = session.now;
    const strategy = (name: string) => this.strategy(name);
    this.hold = new CommandHold(uses, async (plan) => await this.#allCapabilities(plan));
    this.removal = new SandboxRemoval(session, strategy);
    this.checkpoints = new CheckpointRemoval(session.store, strategy);
  }

  /** The strategy that made a sandbox, or would make one. */
  strategy(name: string): GuardedStrategy {
    return this.#registry.guarded(name);
  }

  /** The capabilities of the strategy of a resource. */
  async capabilities({
    resource,
    strategy,
  }: Pick<PlanResource, "resource" | "strategy">): Promise<FullCapabilities> {
    // Another host has strategies of its own.
    const subject = splitHost(resource.location) === undefined ? {} : { resource };
    return (await this.#registry.resolve(strategy, subject)).capabilities;
  }

  /** The capabilities of a sandbox: those of its strategy, unless the sandbox itself has fewer. */
  async capabilitiesOf(ref: SandboxRef): Promise<FullCapabilities> {
    const { capabilities } = ref;
    const declared = (await this.#registry.resolve(ref.strategyName, { ref })).capabilities;
    return { ...declared, ...capabilities, partial: declared.partial && capabilities?.partial !== false };
  }

  /** The capabilities of all sandboxes of a plan, by the names of their resources. */
  async #allCapabilities(plan: PlanRecord): Promise<ReadonlyMap<string, FullCapabilities>> {
    const all = new Map<string, FullCapabilities>();
    for (const { ref } of await this.#store.sandboxesOf(plan.id))
      all.set(resourceById(plan, ref.resourceId)?.name ?? ref.resourceId, await this.capabilitiesOf(ref));
    return all;
  }

  /** Whether a sandbox holds something open outside of our folders. */
  async holdsTransaction(ref: SandboxRef): Promise<boolean> {
    return (await this.#capabilitiesIfAvailable(ref))?.heldTransaction === true;
  }

  /** Whether work in a sandbox happens in the original. */
  async worksInPlace(ref: SandboxRef): Promise<boolean> {
    return (await this.#capabilitiesIfAvailable(ref))?.commit === "in-place";
  }

  async #capabilitiesIfAvailable(ref: SandboxRef): Promise<FullCapabilities | undefined> {
    try {
      return await this.capabilitiesOf(ref);
    } catch (thrown) {
      if (isUnavailable(thrown)) return undefined;
      throw thrown;
    }
  }

  /**
   * Notes on a sandbox for the user, also that its strategy can't be used. Without `load` no module is
   * loaded.
   */
  async notes(
    ref: SandboxRef,
    { load = true }: { readonly load?: boolean } = {},
  ): Promise<readonly string[]> {
    if (!load && (ref.host !== undefined || !this.#registry.isAtHand(ref.strategyName))) return [];
    try {
      return await this.strategy(ref.strategyName).notes(ref);
    } catch (thrown) {
      if (isUnavailable(thrown)) return [`its strategy can't be used: ${messageOf(thrown)}`];
      if (ref.host !== undefined) return [messageOf(thrown)];
      if (await this.isOfBuiltIn(ref)) throw thrown;
      return [`its strategy can't say anything of it: ${messageOf(thrown)}`];
    }
  }

  /** Whether a built-in strategy made it. */
  async isOfBuiltIn(ref: SandboxRef): Promise<boolean> {
    return (await this.#registry.resolve(ref.strategyName, { ref })).builtIn;
  }

  /** The sandbox of a resource of a plan; made if it is missing. Every call returns the same one. */
  async getOrCreate(plan: PlanRecord, item: PlanResource): Promise<SandboxRecord> {
    const { resource, strategy } = boundaryOf(plan, item);
    const id = sandboxIdFor(plan.id, resource.id);
    const known = await this.#store.sandbox(id);
    if (known !== undefined && known.state !== "PENDING" && known.state !== "CLEANED_UP") return known;
    assertInMaking(plan);
    if (known?.state === "PENDING") await this.removal.remove(known, "nothing");
    try {
      // The strategy records its intent during this call (sandbox-reports.ts); a sandbox without an intent is
      // known from here on.
      const ref = await this.strategy(strategy).create(plan.id, resource);
      const pending = (await this.#store.sandbox(id)) ?? pendingSandbox(ref, this.#now());
      return await this.#move(pending, "CREATED", ref);
    } catch (thrown) {
      const begun = await this.#store.sandbox(id);
      if (begun?.state === "PENDING") await this.removal.remove(begun, "nothing");
      throw thrown;
    }
  }

  /**
   * A sandbox that may be used now, by the name of its resource; without a name, of the only resource.
   * `change` begins new work in a COMMITTED one.
   */
  async usable(
    plan: PlanRecord,
    name: string | undefined,
    purpose: "look" | "change",
  ): Promise<UsableSandbox> {
    // During a restore or an update a sandbox is in no state that a user ever made.
    if (plan.state === "restoring" || plan.state === "updating") throw new PlanStateError(plan, "open");
    const item = resourceOf(plan, name);
    const found = boundaryOf(plan, item);
    const record = await this.#store.sandbox(sandboxIdFor(plan.id, found.resource.id));
    if (record === undefined || !USABLE_STATES.includes(record.state)) {
      throw new SandboxStateError(
        `The sandbox of ${item.resource.name} is ${record?.state ?? "not there"}${record?.error === undefined ? "" : `: ${record.error}`}.`,
        {
          from: record?.state ?? "CLEANED_UP",
          to: "ACTIVE",
          hint:
            record?.state === "PREPARED" ? "The plan is being applied; wait for that." : "Make a new plan.",
        },
      );
    }
    const strategy = this.strategy(found.strategy);
    await strategy.assertUsable(record.ref);
    const now = purpose === "change" ? await this.#move(record, "ACTIVE") : record;
    return {
      record: now,
      strategy,
      pathOf: (path) => pathWithin(item, path),
      pathFrom: (path) => pathInside(item, path),
    };
  }

  /** The detached command that runs inside a plan. Needs no claim. */
  detached(planId: string): Use | undefined {
    return this.#uses.detached(planId);
  }

  /** Refuses a plan inside which a command runs that does not end by a forced cancel. Needs no claim. */
  assertOnlyDetached(plan: PlanRecord): void {
    this.#uses.assertOnlyDetached(plan);
  }

  /** Refuses a plan whose sandboxes a commit holds, or inside which a command runs. */
  assertFree(plan: PlanRecord): void {
    if (plan.state === "applying" || plan.state === "undoing") throw new PlanStateError(plan, "open");
    this.assertUnused(plan);
  }

  /** Refuses a plan inside which a command runs, unless all of them stand still. */
  assertUnused(plan: PlanRecord): void {
    if (!this.hold.isHeld(plan.id)) this.#uses.assertNone(plan);
  }

  /**
   * Throws the work of every sandbox away, and restores originals where it had landed. Checkpoints end with
   * the work.
   */
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

  /** Removes every sandbox. `undoable` names those in whose places an undo record stays. */
  async cleanupAll(
    plan: PlanRecord,
    undoable: ReadonlySet<string> = new Set<string>(),
  ): Promise<SweepReport> {
    this.assertFree(plan);
    return await this.checkpoints.ending(plan.id, () =>
      this.#sweep(plan, async (record) => {
        // An undo needs what may still be in the place of a CLEANED_UP sandbox.
        if (record.state === "CLEANED_UP") return;
        const staysBehind = undoable.has(record.ref.sandboxId) ? "undo record" : "nothing";
        await this.removal.remove(record, staysBehind);
      }),
    );
  }

  /** Removes sandboxes whose creation died with its process. */
  async cleanupAbandoned(plan: PlanRecord): Promise<SweepReport> {
    return await this.#sweep(plan, async (record) => {
      if (record.state === "PENDING") await this.removal.remove(record, "nothing");
    });
  }

  async #sweep(
    plan: PlanRecord,
    action: (record: SandboxRecord, strategy: GuardedStrategy) => Promise<void>,
  ): Promise<SweepReport> {
    const done: string[] = [];
    const failed: SweepReport["failed"][number][] = [];
    for (const record of await this.#store.sandboxesOf(plan.id)) {
      const { resourceId } = record.ref;
      const resource = resourceById(plan, resourceId)?.name ?? resourceId;
      try {
        await action(record, this.strategy(record.ref.strategyName));
        done.push(resource);
      } catch (cause) {
        const isGone = await this.#isOutOfReach(record.ref, cause);
        failed.push({
          resource,
          message: messageOf(cause),
          cause,
          ...(isGone && { outOfReach: record.ref }),
        });
      }
    }
    return { done, failed };
  }

  /**
   * Whether a sandbox can't be reached here: its strategy is missing, or is another version and failed on it.
   */
  async #isOutOfReach(ref: SandboxRef, cause: unknown): Promise<boolean> {
    if (isUnavailable(cause)) return true;
    return ref.madeWith !== undefined && (await this.strategy(ref.strategyName).isOtherVersion(ref));
  }

  async #move(record: SandboxRecord, to: SandboxState, ref: SandboxRef = record.ref): Promise<SandboxRecord> {
    if (record.state === to) return record;
    const moved: SandboxRecord = { ...record, ref, state: moveSandbox(ref.sandboxId, record.state, to) };
    await this.#store.write([{ put: "sandbox", record: moved }], "ordered");
    return moved;
  }
}

function pathWithin({ within }: PlanResource, path: string): string {
  if (within === undefined) return path;
  const checked = assertResourcePath(path);
  return checked === ROOT_PATH ? within.path : joinPath(within.path, checked);
}

function pathInside({ within }: PlanResource, path: string): string {
  if (within === undefined || within.path === ROOT_PATH) return path;
  return path === within.path ? ROOT_PATH : path.slice(within.path.length + 1);
}

/** A plan that is over gets no new sandboxes: the remains of the old ones may be needed to undo it. */
function assertInMaking(plan: PlanRecord): void {
  if (["creating", "adding", "open"].includes(plan.state)) return;
  throw new PlanStateError(plan, "open");
}

/** The resource of a plan with this name; without a name, the only one. */
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
  // A repository that came with its checkout has to be named.
  const [first, ...others] = plan.resources.filter(({ resource }) => resource.type !== "git-repository");
  if (first !== undefined && others.length === 0) return first;
  throw new UsageError(`The plan ${plan.name} has several resources.`, {
    hint: `Name one of ${plan.resources.map(({ resource }) => resource.name).join(", ")}.`,
  });
}
