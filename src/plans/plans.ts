import type { AtomicCommit } from "../commit/atomic-commit.ts";
import type { PlanClosing } from "../commit/plan-closing.ts";
import { joinPath, pathFromBytes, ROOT_PATH } from "../core/byte-path.ts";
import { type Change, statsOf } from "../core/change.ts";
import { PlanStateError, SandboxConflictError, UsageError } from "../core/errors.ts";
import { movePlan, type PlanRecord } from "../core/plan.ts";
import type { StatementResult } from "../core/query.ts";
import { filePatch } from "../files/file-patch.ts";
import { type Claims, planKey, sharedOriginalKey } from "../sandboxes/claims.ts";
import type { SandboxManager } from "../sandboxes/manager.ts";
import { type PlanSandboxes, resourceOf } from "../sandboxes/plan-sandboxes.ts";
import type { PlanSecrets, Secrets } from "../sandboxes/plan-secrets.ts";
import { throwIfFailed } from "../sandboxes/sweep-failure.ts";
import type { HistoryEntry, Store } from "../store/store.ts";
import { newId } from "../system/new-id.ts";
import { assertNotInPlace } from "./assert-not-in-place.ts";
import type { StrategyChooser } from "./choose-strategy.ts";
import { choosePaths, chosenChanges } from "./chosen-paths.ts";
import { findPlan } from "./find-plan.ts";
import { makeSandboxes } from "./make-sandboxes.ts";
import { digestOf, isWanted, type PlanChanges, planChanges } from "./plan-changes.ts";
import { noteSealed } from "./plan-log.ts";
import type {
  ApplyOptions,
  ApplyResult,
  CreatePlanOptions,
  DiffOptions,
  ListPlansOptions,
  PatchOptions,
  PlanDiff,
  PlanView,
} from "./plan-views.ts";
import { assertName, type ResourceResolver } from "./resources.ts";
import { assertHasWord, assertMay, assertMayLand, hasUnwritable, restrictionOf } from "./restrictions.ts";

export interface PlansParts {
  readonly store: Store;
  readonly sandboxes: PlanSandboxes;
  readonly manager: SandboxManager;
  readonly claims: Claims;
  readonly commit: AtomicCommit;
  readonly resolver: ResourceResolver;
  readonly chooser: StrategyChooser;
  readonly now: () => Date;
  /** Without `load` strategies of the user's own are not asked what is to be said of their sandboxes. */
  readonly describe: (plan: PlanRecord, how?: { readonly load?: boolean }) => Promise<PlanView>;
  readonly history: (planId: string, event: string, details: HistoryEntry["details"]) => HistoryEntry;
  readonly secrets: PlanSecrets;
  /** `[RESOURCE:]PATTERN` each: what may always land though tools run it by themselves. */
  readonly allow: readonly string[];
  readonly closing: PlanClosing;
  /** Frees what is kept for a full disk; to be called before what makes room. */
  readonly makeRoom: () => void;
}

/**
 * What users do, in their words. Wherever a plan is asked for, its id, a unique prefix of it or its name will do; without one the only open
 * plan is meant. Wherever one of its resources is asked for, its name will do; without one its only resource is meant.
 */
export class Plans {
  readonly #parts: PlansParts;

  constructor(parts: PlansParts) {
    this.#parts = parts;
  }

  /** Makes a plan and its sandboxes, all of them or none. Everything that can be refused is refused before anything is made. */
  async create(options: CreatePlanOptions): Promise<PlanView> {
    const { store, claims, sandboxes } = this.#parts;
    if (options.name !== undefined) assertName(options.name);
    const { plan, secrets } = await this.#newPlan(options);
    // Nothing may land in an original while it is copied, or the copy would be a mix.
    const keys = [planKey(plan.id), ...plan.resources.map(({ resource }) => sharedOriginalKey(resource.location))];
    return await claims.holding(keys, "One of the originals", async () => {
      await store.write(
        [
          { put: "plan", record: plan },
          { put: "history", record: this.#parts.history(plan.id, "created", { name: plan.name }) },
        ],
        "ordered",
      );
      try {
        this.#parts.secrets.keep(plan.id, secrets);
        await makeSandboxes(sandboxes, plan, { withPaths: options.withoutPaths !== true });
        const open: PlanRecord = { ...plan, state: movePlan(plan, "open") };
        const view = await this.#view(open);
        // The last step: a plan that is reported as not made is not there.
        await store.write([{ put: "plan", record: open }], "durable");
        return view;
      } catch (thrown) {
        await this.#parts.closing.close(plan);
        throw thrown;
      }
    });
  }

  async list(options: ListPlansOptions = {}): Promise<readonly PlanView[]> {
    const plans = await this.#parts.store.listPlans(options.all === true ? "all" : "open");
    return await Promise.all(plans.map((plan) => this.#parts.describe(plan, { load: false })));
  }

  /** Which plan is meant. */
  async find(plan?: string): Promise<{ readonly id: string; readonly name: string }> {
    const { id, name } = await this.#find(plan);
    return { id, name };
  }

  async show(plan?: string): Promise<PlanView> {
    return await this.#view(await this.#find(plan));
  }

  /** Where the sandbox of a resource is. */
  async path(plan: string | undefined, resource?: string): Promise<string> {
    const path = await this.#exclusively(plan, async (found) => {
      const { record, strategy, pathOf } = await this.#parts.sandboxes.usable(found, resource, "change");
      const path = await strategy.path(record.ref);
      const inside = pathOf(ROOT_PATH);
      return path === undefined || inside === ROOT_PATH ? path : joinPath(path, inside);
    });
    if (path === undefined)
      throw new UsageError("This sandbox has no path.", {
        hint: "Use 'drydock plan sql' for a database, or 'drydock plan read' and 'plan write'.",
      });
    return path;
  }

  async read(plan: string | undefined, resource: string | undefined, path: string): Promise<Uint8Array> {
    const found = await this.#find(plan);
    const { record, strategy, pathOf } = await this.#parts.sandboxes.usable(found, resource, "look");
    assertMay(resourceOf(found, resource), "read");
    return await strategy.read(record.ref, pathOf(path));
  }

  async write(
    plan: string | undefined,
    resource: string | undefined,
    path: string,
    bytes: Uint8Array,
  ): Promise<Change> {
    const found = await this.#find(plan);
    if (found.readOnly) throw readOnly(found);
    return await this.#parts.claims.holding([planKey(found.id)], `The plan ${found.name}`, async () => {
      assertMay(resourceOf(found, resource), "write");
      const { record, strategy, pathOf } = await this.#parts.sandboxes.usable(found, resource, "change");
      return await strategy.write(record.ref, pathOf(path), bytes);
    });
  }

  /** Runs statements in the sandbox of a database, and returns what each gave; in a read-only plan only those that change nothing. */
  async sql(
    plan: string | undefined,
    resource: string | undefined,
    script: string,
  ): Promise<readonly StatementResult[]> {
    return await this.#exclusively(plan, async (found) => {
      const { readOnly } = found;
      const { record, strategy } = await this.#parts.sandboxes.usable(found, resource, readOnly ? "look" : "change");
      return await strategy.query(record.ref, script, { readOnly });
    });
  }

  /** What would change. The digest is over all of it, also where `paths` narrows what is shown. `allow` is what an apply would be told. */
  async diff(plan: string | undefined, options: DiffOptions = {}): Promise<PlanDiff> {
    const found = await this.#find(plan);
    const all = await this.#changes(found, options.allow);
    const changes = all.changes.filter((change) => isWanted(change, options.paths));
    const selfRunning = all.selfRunning.filter((change) => isWanted(change, options.paths));
    const digest = digestOf(all.changes);
    await noteSealed(this.#parts, found.id, digest);
    return { planId: found.id, digest, stats: statsOf(changes), changes, selfRunning };
  }

  /** The changes as unified text, one piece per path, under the resource's name where there are several; bytes that are not UTF-8 as in byte-path.ts. */
  async *patch(plan: string | undefined, options: PatchOptions = {}): AsyncGenerator<string> {
    const found = await this.#find(plan);
    const diff = await this.diff(found.id, options);
    options.onDiff?.(diff);
    const { changes } = diff;
    for (const change of changes) {
      const { record, strategy } = await this.#parts.sandboxes.usable(found, change.resource, "look");
      const sources = {
        before: () => strategy.readOriginal(record.ref, change.path),
        after: () => unlessGone(strategy.read(record.ref, change.path)),
      };
      const shownPath = found.resources.length === 1 ? change.path : joinPath(change.resource, change.path);
      const patch = await filePatch(change, sources, shownPath);
      yield pathFromBytes(patch);
    }
  }

  /**
   * Lands everything, or nothing; with `only` the part that is meant, all of it or nothing, and the plan stays open with the rest. Fails only by
   * `AtomicCommitError`, but for requests that make no sense.
   */
  async apply(plan: string | undefined, options: ApplyOptions = {}): Promise<ApplyResult> {
    const found = await this.#find(plan);
    const { digest, only, ...rest } = options;
    const review = digest === undefined && !hasUnwritable(found) ? {} : { review: () => this.#review(found, options) };
    const choose =
      only === undefined ? {} : { choose: async () => choosePaths(found, (await this.#changes(found)).changes, only) };
    const result = await this.#parts.manager.commitAll(found.id, { ...rest, ...review, ...choose });
    return { planId: found.id, ...result };
  }

  /** Where the changes are looked at anyway, what must not land is refused with all of it named; what sandboxes hold then is asked again by each of them. */
  async #review(plan: PlanRecord, { digest, only, allow }: ApplyOptions): Promise<void> {
    const { changes, selfRunning } = await this.#changes(plan, allow);
    const landing = only === undefined ? changes : chosenChanges(plan, changes, only);
    assertMayLand(plan, landing);
    assertHasWord(landing, selfRunning);
    if (digest === undefined || digestOf(changes) === digest) return;
    throw new SandboxConflictError([], {
      message: "What would land now is not what was reviewed: the digest differs.",
      hint: "Look at 'drydock plan diff' again and use its digest.",
    });
  }

  /** Takes the last landing of a plan back that is still there. An open plan, of which parts have landed, stays open. */
  async undo(plan: string | undefined): Promise<ApplyResult> {
    const found = await this.#find(plan);
    return { planId: found.id, ...(await this.#parts.commit.undo(found.id)) };
  }

  /** Throws the changes away and keeps the plan open. */
  async rollback(plan: string | undefined): Promise<PlanView> {
    this.#parts.makeRoom();
    return await this.#exclusively(plan, async (found) => {
      if (found.state !== "open") throw new PlanStateError(found, "open");
      throwIfFailed(await this.#parts.sandboxes.rollbackAll(found));
      await this.#note(found, "rolled back");
      return await this.#view(found);
    });
  }

  /** Throws the changes away and closes the plan. */
  async cancel(plan: string | undefined): Promise<PlanView> {
    this.#parts.makeRoom();
    return await this.#exclusively(plan, async (found) => {
      const { plan: closed, left, warnings } = await this.#parts.closing.close(found);
      const told = { ...(left.length > 0 && { left }), ...(warnings.length > 0 && { warnings }) };
      return { ...(await this.#view(closed)), ...told };
    });
  }

  async #newPlan(options: CreatePlanOptions): Promise<{ readonly plan: PlanRecord; readonly secrets: Secrets }> {
    const { resolver, chooser, now } = this.#parts;
    const id = newId();
    const resolved = resolver.resolveAll(options.resources);
    const resources = await chooser.chooseAll(resolved, (resource) => restrictionOf(resolver.typeOf(resource)));
    const allowIrreversible = options.allowIrreversible === true;
    if (!allowIrreversible) await assertNotInPlace(this.#parts.sandboxes, resources);
    const secrets = Object.fromEntries(
      resolved.flatMap(({ resource, secret }) => (secret === undefined ? [] : [[resource.id, secret]])),
    );
    const plan: PlanRecord = {
      id,
      name: options.name ?? `${resources[0]?.resource.name ?? "plan"}-${id.slice(-6).toLowerCase()}`,
      state: "creating",
      readOnly: options.readOnly === true,
      allowIrreversible,
      createdAt: now().toISOString(),
      resources,
    };
    return { plan, secrets };
  }

  async #find(plan: string | undefined): Promise<PlanRecord> {
    return await findPlan(this.#parts.store, plan);
  }

  async #exclusively<T>(plan: string | undefined, action: (plan: PlanRecord) => Promise<T>): Promise<T> {
    const { id, name } = await this.#find(plan);
    return await this.#parts.claims.holding([planKey(id)], `The plan ${name}`, async () =>
      action(await this.#find(id)),
    );
  }

  async #changes(plan: PlanRecord, allow: readonly string[] = []): Promise<PlanChanges> {
    return await planChanges(plan, this.#parts.sandboxes, [...this.#parts.allow, ...allow]);
  }

  async #view(plan: PlanRecord): Promise<PlanView> {
    return await this.#parts.describe(plan);
  }

  async #note(plan: PlanRecord, event: string): Promise<void> {
    await this.#parts.store.write([{ put: "history", record: this.#parts.history(plan.id, event, {}) }], "ordered");
  }
}

/** A file may vanish between the diff and the look at it. */
async function unlessGone(content: Promise<Uint8Array>): Promise<Uint8Array | undefined> {
  try {
    return await content;
  } catch (thrown) {
    if (thrown instanceof UsageError && thrown.code === "NO_SUCH_FILE") return undefined;
    throw thrown;
  }
}

function readOnly(plan: PlanRecord): UsageError {
  return new UsageError(`The plan ${plan.name} is read-only.`, {
    hint: "Make a plan without --read-only.",
    code: "READ_ONLY",
  });
}
