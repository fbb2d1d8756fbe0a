import { takeJoinBack } from "../../commit/cleanup/join-removal.ts";
import type { CheckpointPart } from "../../core/checkpoint.ts";
import { PlanStateError } from "../../core/errors/errors.ts";
import { movePlan, type PlanRecord, type PlanResource } from "../../core/plan.ts";
import type { PlanSession } from "../../sandboxes/access/plan-session.ts";
import type { PlanSecrets } from "../../sandboxes/remains/plan-secrets.ts";
import type { RunFolders } from "../../sandboxes/remains/run-folders.ts";
import { forgetWorkAt, type TakenWork, workAt } from "../../sandboxes/scratch/taken-work.ts";
import type { StoreChange } from "../../store/store.ts";
import { newId } from "../../system/state/new-id.ts";
import type { PlanDescriptions } from "../describe-plan.ts";
import type { AddOptions, PlanView } from "../plan-views.ts";
import type { StrategyChooser } from "../resources/choose-strategy.ts";
import type { ResolvedResource } from "../resources/containment.ts";
import { passwordsOf, type ResourceResolver } from "../resources/resources.ts";
import { assertNotInPlace, restrictionOf } from "../resources/restrictions.ts";
import { makePath, makeSandboxes } from "./new-sandboxes.ts";

export interface PlanJoiningParts {
  readonly session: PlanSession;
  readonly resolver: ResourceResolver;
  readonly chooser: StrategyChooser;
  readonly secrets: PlanSecrets;
  readonly folders: RunFolders;
  readonly descriptions: PlanDescriptions;
}

/**
 * Takes resources into an open plan, all or none, with what its commands wrote there. Checks everything
 * before it makes anything. In this order:
 *
 * 1. the plan is `adding`, with the resources that join it, durably;
 * 2. their passwords are written, durably;
 * 3. their sandboxes are made, take over the work in the scratch layers, and become part of the checkpoints
 *    that the plan has, as they are now;
 * 4. the plan is `open` with them, durably;
 * 5. the scratch layers forget that work. A crash before that leaves files that no command sees, because the
 *    sandbox shows there, and that go with the plan.
 *
 * A failure before step 4 takes everything back; recovery does that if the process died.
 */
export class PlanJoining {
  readonly #parts: PlanJoiningParts;

  constructor(parts: PlanJoiningParts) {
    this.#parts = parts;
  }

  async add(key: string | undefined, options: AddOptions): Promise<PlanView> {
    const { session, resolver, chooser } = this.#parts;
    const { id } = await session.plans.find(key);
    resolver.assertHere(options.resources);
    const resolved = await resolver.resolve(
      options.resources,
      async ({ resource, wanted }) => (await chooser.choose(resource, wanted)).strategy,
    );
    const originals = resolved.map(({ resource }) => ({ resource, strategy: "", why: "" }));
    return await session.plans.extending(id, originals, async (plan) => {
      if (plan.state !== "open") throw new PlanStateError(plan, "adding");
      session.sandboxes.assertFree(plan);
      return await this.#join(plan, resolved, options);
    });
  }

  async #join(
    plan: PlanRecord,
    resolved: readonly ResolvedResource[],
    options: AddOptions,
  ): Promise<PlanView> {
    const { session, secrets, descriptions } = this.#parts;
    const joining = await this.#chosen(plan, resolved, options);
    const adding: PlanRecord = { ...plan, state: movePlan(plan, "adding"), joining };
    await session.store.write([{ put: "plan", record: adding }], "durable");
    const allowIrreversible = plan.allowIrreversible || options.allowIrreversible === true;
    const open: PlanRecord = { ...plan, allowIrreversible, resources: [...plan.resources, ...joining] };
    try {
      const passwords = passwordsOf(resolved);
      if (Object.keys(passwords).length > 0) secrets.keep(plan.id, { ...secrets.of(plan.id), ...passwords });
      await this.#makeSandboxes({ ...open, state: "adding" }, joining, options.withoutPaths !== true);
      const names = joining.map(({ resource }) => resource.name);
      const added = session.history.entry(plan.id, "added", { resource: names.join(", ") });
      const saved = await this.#withinCheckpoints(open, joining);
      await session.store.write([{ put: "plan", record: open }, ...saved, added], "durable");
    } catch (thrown) {
      await takeJoinBack(session, adding);
      throw thrown;
    }
    this.#forgetTaken(plan.id, joining);
    return await descriptions.of(open);
  }

  async #chosen(
    plan: PlanRecord,
    resolved: readonly ResolvedResource[],
    options: AddOptions,
  ): Promise<readonly PlanResource[]> {
    const { session, resolver, chooser } = this.#parts;
    const joining = await chooser.chooseAll(
      resolver.joined(plan.resources, resolved),
      (resource) => restrictionOf(resolver.typeOf(resource)),
      plan.resources,
    );
    const isAllowed = plan.allowIrreversible || options.allowIrreversible === true;
    if (!isAllowed) await assertNotInPlace(session.sandboxes, joining);
    return joining;
  }

  async #makeSandboxes(
    plan: PlanRecord,
    joining: readonly PlanResource[],
    withPaths: boolean,
  ): Promise<void> {
    const { sandboxes } = this.#parts.session;
    const resources = joining.filter(({ within }) => within === undefined);
    await makeSandboxes(sandboxes, plan, { resources, withPaths: false });
    for (const { resource } of resources) {
      const { record, strategy } = await sandboxes.usable(plan, resource.name, "look");
      for (const { folder, entries } of this.#workAt(plan, resource.location)) {
        await sandboxes.usable(plan, resource.name, "change");
        await strategy.takeOver(record.ref, folder, entries);
      }
      if (withPaths) await makePath(sandboxes, record.ref);
    }
  }

  #workAt({ id }: PlanRecord, location: string): readonly TakenWork[] {
    using folder = location.startsWith("/") ? this.#parts.folders.ifThere(id) : undefined;
    return folder === undefined ? [] : workAt(folder, location);
  }

  /** A checkpoint is of all sandboxes: one from before has the new ones as they joined. */
  async #withinCheckpoints(
    plan: PlanRecord,
    joining: readonly PlanResource[],
  ): Promise<readonly StoreChange[]> {
    const { store, sandboxes } = this.#parts.session;
    const saved = (await store.checkpointsOf(plan.id)).filter(({ state }) => state === "saved");
    if (saved.length === 0) return [];
    const dataId = newId();
    const parts: CheckpointPart[] = [];
    for (const item of joining.filter(({ within }) => within === undefined)) {
      if (!(await sandboxes.capabilities(item)).checkpoint) continue;
      const { resource } = item;
      const { record, strategy } = await sandboxes.usable(plan, resource.name, "look");
      const { mark, bytes } = await strategy.checkpoint(record.ref, dataId);
      parts.push({
        sandboxId: record.ref.sandboxId,
        dataId,
        ...(mark !== undefined && { mark }),
        ...(bytes !== undefined && { bytes }),
      });
    }
    return saved.map((record) => ({
      put: "checkpoint",
      record: { ...record, parts: [...record.parts, ...parts] },
    }));
  }

  #forgetTaken(planId: string, joining: readonly PlanResource[]): void {
    using folder = this.#parts.folders.ifThere(planId);
    if (folder === undefined) return;
    for (const { resource } of joining.filter(hasPath)) forgetWorkAt(folder, resource.location);
  }
}

function hasPath({ resource }: PlanResource): boolean {
  return resource.location.startsWith("/");
}
