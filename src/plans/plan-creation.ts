import type { PlanClosing } from "../commit/cleanup/plan-closing.ts";
import { UsageError } from "../core/errors/errors.ts";
import { boundariesOf, movePlan, type PlanRecord, type PlanResource } from "../core/plan.ts";
import type { PlanSession } from "../sandboxes/access/plan-session.ts";
import type { PlanSecrets, Secrets } from "../sandboxes/remains/plan-secrets.ts";
import { newId } from "../system/state/new-id.ts";
import type { PlanDescriptions } from "./describe-plan.ts";
import { makeSandboxes } from "./making/new-sandboxes.ts";
import { assertLabels } from "./plan-labels.ts";
import type { CreatePlanOptions, PlanView, ResourceRequest } from "./plan-views.ts";
import type { StrategyChooser } from "./resources/choose-strategy.ts";
import type { ContainedResource } from "./resources/containment.ts";
import type { OtherHosts } from "./resources/other-hosts.ts";
import { assertDistinct, assertName, passwordsOf, type ResourceResolver } from "./resources/resources.ts";
import { assertNotInPlace, restrictionOf } from "./resources/restrictions.ts";

export interface PlanCreationParts {
  readonly session: PlanSession;
  readonly resolver: ResourceResolver;
  readonly chooser: StrategyChooser;
  readonly secrets: PlanSecrets;
  readonly closing: PlanClosing;
  readonly descriptions: PlanDescriptions;
  /** Absent: this machine is alone. */
  readonly otherHosts?: OtherHosts | undefined;
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
        await makeSandboxes(session.sandboxes, plan, {
          resources: boundariesOf(plan),
          withPaths: options.withoutPaths !== true,
        });
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

  /** The resources that a plan over these would have. Makes nothing. */
  async resources(requests: readonly ResourceRequest[]): Promise<readonly ContainedResource[]> {
    const { resolver, chooser } = this.#parts;
    return await resolver.resolveAll(
      requests,
      async ({ resource, wanted }) => (await chooser.choose(resource, wanted)).strategy,
    );
  }

  /** The resources of a plan, those of other hosts as these resolve them, and the passwords of those here. */
  async chosen(
    requests: readonly ResourceRequest[],
  ): Promise<{ readonly resources: readonly PlanResource[]; readonly passwords: Secrets }> {
    const { resolver, chooser } = this.#parts;
    const all: PlanResource[] = [];
    let passwords: Secrets = {};
    for (const [host, these] of requests.length === 0
      ? [[undefined, []] as const]
      : resolver.byHost(requests)) {
      if (host !== undefined) {
        all.push(...(await this.#elsewhere(host, these)));
        continue;
      }
      const resolved = await this.resources(these);
      passwords = passwordsOf(resolved);
      all.push(
        ...(await chooser.chooseAll(resolved, (resource) => restrictionOf(resolver.typeOf(resource)))),
      );
    }
    assertDistinct(all.map(({ resource }) => resource));
    return { resources: all, passwords };
  }

  async #elsewhere(host: string, requests: readonly ResourceRequest[]): Promise<readonly PlanResource[]> {
    const { otherHosts } = this.#parts;
    if (otherHosts !== undefined) return await otherHosts.resources(host, requests);
    throw new UsageError(`${host} is a host of no fleet that is known here.`, {
      hint: "Name its database as fleet.database in drydock.yaml. A path of this machine may begin with ./",
      code: "NO_FLEET",
    });
  }

  async #newPlan(
    options: CreatePlanOptions,
  ): Promise<{ readonly plan: PlanRecord; readonly passwords: Secrets }> {
    const { session } = this.#parts;
    const id = newId();
    const { resources, passwords } = await this.chosen(options.resources);
    const allowIrreversible = options.allowIrreversible === true;
    if (!allowIrreversible) await assertNotInPlace(session.sandboxes, resources);
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
}
