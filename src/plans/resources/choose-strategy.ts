import type { Settings } from "../../config/settings.ts";
import { AUTOMATIC_STRATEGY } from "../../config/settings.ts";
import {
  type DrydockErrorOptions,
  messageOf,
  UnsupportedError,
  UsageError,
} from "../../core/errors/errors.ts";
import { displayPath } from "../../core/paths/byte-path.ts";
import type { PlanResource } from "../../core/plan.ts";
import type { Resource } from "../../core/resource/resource.ts";
import type { ResourceTypes } from "../../core/resource/resource-types.ts";
import { nearestName } from "../../core/values/nearest-name.ts";
import { isBuiltIn, type RegisteredStrategy } from "../../strategies/registered-strategy.ts";
import type { SandboxStrategyRegistry } from "../../strategies/registry.ts";
import type { ContainedResource } from "./containment.ts";

/** The strategies in which commits land although the repository of a checkout is elsewhere. */
const KEEP_COMMITS: readonly string[] = ["overlay", "git_worktree"];

const FILES_ALONE = "To work on its files alone, without git, say type=fs-directory.";

export interface ChosenStrategy {
  readonly strategy: string;
  readonly why: string;
}

/**
 * Chooses the strategy of a resource, with the reason: the one that the plan or the resource asks for, else
 * the one of its type, else the general setting, else the strongest that works here. `none` isolates nothing
 * and has to be asked for.
 */
export class StrategyChooser {
  readonly #registry: SandboxStrategyRegistry;
  readonly #settings: Settings;
  readonly #types: ResourceTypes;

  constructor(registry: SandboxStrategyRegistry, settings: Settings, types: ResourceTypes) {
    this.#registry = registry;
    this.#settings = settings;
    this.#types = types;
  }

  /**
   * The strategies of all resources of a new plan, or of those that join one with `known` resources; a
   * resource that shares the sandbox of another shares its strategy.
   */
  async chooseAll(
    resolved: readonly ContainedResource[],
    restriction: (resource: Resource) => Pick<PlanResource, "may">,
    known: readonly PlanResource[] = [],
  ): Promise<readonly PlanResource[]> {
    const chosen = new Map<string, ChosenStrategy>(known.map((item) => [item.resource.id, item]));
    for (const { resource, wanted, within } of resolved)
      if (within === undefined) chosen.set(resource.id, await this.choose(resource, wanted));
    return resolved.map(({ resource, within }) => {
      const choice = chosen.get(within?.resourceId ?? resource.id) as ChosenStrategy;
      const around = [...known, ...resolved].find((other) => other.resource.id === within?.resourceId)
        ?.resource.name;
      const why = around === undefined ? choice.why : this.#whyShared(resource, choice.strategy, around);
      return {
        resource,
        strategy: choice.strategy,
        why,
        ...(within && { within }),
        ...restriction(resource),
      };
    });
  }

  async choose(
    resource: Resource,
    wanted?: { readonly strategy: string; readonly by: string },
  ): Promise<ChosenStrategy> {
    const choice = wanted ?? this.#fromType(resource.type) ?? this.#fromSettings();
    if (choice === undefined || choice.strategy === AUTOMATIC_STRATEGY)
      return await this.#strongest(resource);
    const registered = await this.#registry.resolve(choice.strategy, { resource });
    const against = await this.#against(registered, resource);
    if (against === undefined) return { strategy: choice.strategy, why: choice.by };
    const { reason, instead } = against;
    throw new UnsupportedError(`${choice.strategy} does not work for ${resource.name}: ${reason}.`, {
      hint: `${instead === undefined ? "Choose another strategy" : `Use ${instead}`}, or leave the choice to Drydock.`,
    });
  }

  /** Names the strategy of its type, if that does not count here. */
  #whyShared({ type }: Resource, strategy: string, around: string): string {
    const why = `it is inside of ${around}, whose sandbox it shares`;
    const ofType = this.#fromType(type);
    if (ofType === undefined || [strategy, AUTOMATIC_STRATEGY].includes(ofType.strategy)) return why;
    return `${why}; ${ofType.strategy}, ${ofType.by}, does not count there`;
  }

  #fromType(type: string): { readonly strategy: string; readonly by: string } | undefined {
    const { sandboxStrategy: strategy, strategyFrom } = this.#types.get(type);
    return strategy === undefined
      ? undefined
      : { strategy, by: `named by the type ${strategyFrom} in the config` };
  }

  #fromSettings(): { readonly strategy: string; readonly by: string } | undefined {
    const { strategy } = this.#settings.sandbox;
    return strategy === AUTOMATIC_STRATEGY
      ? undefined
      : { strategy, by: "named by sandbox.strategy in the config" };
  }

  async #strongest(resource: Resource): Promise<ChosenStrategy> {
    const passedOver: string[] = [];
    const { lineage } = this.#types.get(resource.type);
    const { strategies, unusable } = await this.#registry.listFor(resource, lineage);
    passedOver.push(...unusable.map(({ name, error }) => `${name}: ${error.message}`));
    for await (const registered of strategies) {
      if (registered.capabilities.isolation === "none") continue;
      const reason = await this.#reasonOrFailure(registered, resource);
      if (reason === undefined) {
        const note = passedOver.length === 0 ? "" : `; passed over: ${passedOver.join("; ")}`;
        return { strategy: registered.name, why: `the strongest that works here${note}` };
      }
      if (this.#handles(registered, resource.type)) passedOver.push(`${registered.name}: ${reason}`);
    }
    throw new UsageError(
      `No strategy can isolate ${resource.name} (${resource.type})${passedOver.length === 0 ? "" : `: ${passedOver.join("; ")}`}.`,
      { code: "NO_STRATEGY", ...this.#aboutType(resource) },
    );
  }

  /** A custom strategy whose probe fails must not stop the choice of another. */
  async #reasonOrFailure(registered: RegisteredStrategy, resource: Resource): Promise<string | undefined> {
    try {
      return (await this.#against(registered, resource))?.reason;
    } catch (thrown) {
      if (registered.builtIn) throw thrown;
      return messageOf(thrown).replace(/\.$/, "");
    }
  }

  /** Why a strategy can't isolate a resource here, and which one to use instead. */
  async #against(
    registered: RegisteredStrategy,
    resource: Resource,
  ): Promise<{ readonly reason: string; readonly instead?: string } | undefined> {
    if (!this.#handles(registered, resource.type))
      return { reason: `it can't isolate resources of type ${resource.type}` };
    const objection = this.#objection(registered, resource);
    if (objection !== undefined) return { reason: objection };
    const probed = await this.#registry.guarded(registered.name).probe(resource);
    return probed.works ? undefined : probed;
  }

  #handles({ capabilities }: RegisteredStrategy, type: string): boolean {
    const { resourceTypes } = capabilities;
    return (
      resourceTypes === "all" || this.#types.get(type).lineage.some((name) => resourceTypes.includes(name))
    );
  }

  /** An unknown type is probably misspelled. */
  #aboutType({ type, properties }: Resource): Pick<DrydockErrorOptions, "hint" | "details"> {
    const hint = properties["repositoryAt"] === undefined ? {} : { hint: FILES_ALONE };
    if (this.#types.has(type)) return { ...hint, details: { type, known: true } };
    const names = this.#types.list().map(({ name }) => name);
    const nearest = nearestName(type, names);
    return {
      ...(nearest !== undefined && { hint: `Did you mean ${nearest}?` }),
      details: { type, known: false },
    };
  }

  /** Why a resource can't have a strategy that could isolate it. */
  #objection({ name, capabilities }: RegisteredStrategy, { type, properties }: Resource): string | undefined {
    const { strategies } = this.#types.get(type);
    if (strategies?.includes(name) === false) return `the type ${type} allows only ${strategies.join(", ")}`;
    const { repositoryAt } = properties;
    if (typeof repositoryAt === "string" && isBuiltIn(name) && !KEEP_COMMITS.includes(name))
      return `its repository is in ${displayPath(repositoryAt)}, and what is committed inside would be lost`;
    const [inside] = Array.isArray(properties["without"]) ? properties["without"] : [];
    if (inside === undefined || capabilities.leavesOut) return undefined;
    return `it can't leave out ${String(inside)}, which does not belong to it`;
  }
}
