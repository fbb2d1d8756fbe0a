import type { PlanClosing } from "../commit/cleanup/plan-closing.ts";
import { UnsupportedError } from "../core/errors/errors.ts";
import { boundariesOf, movePlan, type PlanRecord, type PlanResource } from "../core/plan.ts";
import type { SandboxRef } from "../core/sandbox.ts";
import type { PlanSession } from "../sandboxes/access/plan-session.ts";
import type { PlanSecrets, Secrets } from "../sandboxes/remains/plan-secrets.ts";
import { newId } from "../system/state/new-id.ts";
import type { PlanDescriptions } from "./describe-plan.ts";
import { assertLabels } from "./plan-labels.ts";
import type { CreatePlanOptions, PlanView } from "./plan-views.ts";
import type { StrategyChooser } from "./resources/choose-strategy.ts";
import { assertName, type ResourceResolver } from "./resources/resources.ts";
import { assertNotInPlace, restrictionOf } from "./resources/restrictions.ts";

export interface PlanCreationParts {
  readonly session: PlanSession;
  readonly resolver: ResourceResolver;
  readonly chooser: StrategyChooser;
  readonly secrets: PlanSecrets;
  readonly closing: PlanClosing;
  readonly descriptions: PlanDescriptions;
}

/**
 * Makes plans with their sandboxes, all or none. Checks everything before it makes anything. In this order:
 *
 * 1. the plan is recorded as `creating`;
 * 2. its passwords are written, durably;
 * 3. its sandboxes are made, each known by its intents before anything of it exists;
 * 4. the plan is `open`, durably. This is the last step: a plan that is reported as not made does not exist.
 *
 * A failure closes the plan; recovery closes a plan whose process died.
 */
export class PlanCreation {
  readonly #parts: PlanCreationParts;

  constructor(parts: PlanCreationParts) {
    this.#parts = parts;
  }

  async create(options: CreatePlanOptions): Promise<PlanView> {
    const { session, secrets, closing, descriptions } = this.#parts;
    if (options.name !== undefined) assertName(options.name);
    if (options.labels !== undefined) assertLabels(options.labels);
    const { plan, passwords } = await this.#newPlan(options);
    return await session.plans.making(plan, async () => {
      const created = session.history.entry(plan.id, "created", { name: plan.name });
      // From here on, no other plan gets the name.
      await session.plans.naming(plan.name, () =>
        session.store.write([{ put: "plan", record: plan }, created], "ordered"),
      );
      try {
        secrets.keep(plan.id, passwords);
        await this.#makeSandboxes(plan, options.withoutPaths !== true);
        const open: PlanRecord = { ...plan, state: movePlan(plan, "open") };
        const view = await descriptions.of(open);
        await session.store.write([{ put: "plan", record: open }], "durable");
        return view;
      } catch (thrown) {
        await closing.close(plan);
        throw thrown;
      }
    });
  }

  async #newPlan(
    options: CreatePlanOptions,
  ): Promise<{ readonly plan: PlanRecord; readonly passwords: Secrets }> {
    const { session, resolver, chooser } = this.#parts;
    const id = newId();
    const resolved = await resolver.resolveAll(
      options.resources,
      async ({ resource, wanted }) => (await chooser.choose(resource, wanted)).strategy,
    );
    const resources = await chooser.chooseAll(resolved, (resource) =>
      restrictionOf(resolver.typeOf(resource)),
    );
    const allowIrreversible = options.allowIrreversible === true;
    if (!allowIrreversible) await assertNotInPlace(session.sandboxes, resources);
    const passwords = Object.fromEntries(
      resolved.flatMap(({ resource, secret }) => (secret === undefined ? [] : [[resource.id, secret]])),
    );
    const plan: PlanRecord = {
      id,
      name: options.name ?? `${resources[0]?.resource.name ?? "plan"}-${id.slice(-6).toLowerCase()}`,
      state: "creating",
      readOnly: options.readOnly === true,
      allowIrreversible,
      createdAt: session.now().toISOString(),
      ...(options.labels !== undefined && { labels: options.labels }),
      resources,
    };
    return { plan, passwords };
  }

  /**
   * Makes the sandboxes one after the other, but a transaction on a server, which mostly waits, at the same
   * time. After a failure it begins no more, and lets those under way finish, so that they can be removed.
   */
  async #makeSandboxes(plan: PlanRecord, withPaths: boolean): Promise<void> {
    const { sandboxes } = this.#parts.session;
    const [held, others]: [PlanResource[], PlanResource[]] = [[], []];
    for (const resource of boundariesOf(plan)) {
      const { heldTransaction } = await sandboxes.capabilities(resource.strategy);
      (heldTransaction ? held : others).push(resource);
    }
    let hasFailed = false;
    const make = async (resources: readonly PlanResource[]) => {
      for (const resource of resources) {
        if (hasFailed) return;
        const { ref } = await sandboxes.getOrCreate(plan, resource);
        if (withPaths) await this.#makePath(ref);
      }
    };
    const failing = (thrown: unknown) => {
      hasFailed = true;
      throw thrown;
    };
    const ends = await Promise.allSettled([held, others].map((resources) => make(resources).catch(failing)));
    for (const end of ends) if (end.status === "rejected") throw end.reason;
  }

  /** Makes what programs need to find a sandbox, if its strategy can. */
  async #makePath(ref: SandboxRef): Promise<void> {
    try {
      await this.#parts.session.sandboxes.strategy(ref.strategyName).path(ref);
    } catch (thrown) {
      if (!(thrown instanceof UnsupportedError) || thrown.code !== "NO_PATH") throw thrown;
    }
  }
}
