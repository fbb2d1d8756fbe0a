import type { Settings } from "../config/settings.ts";
import { AUTOMATIC_STRATEGY } from "../config/settings.ts";
import { UnsupportedError, UsageError } from "../core/errors.ts";
import type { Resource } from "../core/resource.ts";
import type { RegisteredStrategy, SandboxStrategyRegistry } from "../sandboxes/registry.ts";

export interface ChosenStrategy {
  readonly strategy: string;
  readonly why: string;
}

/**
 * Which strategy a resource gets, and why: what was asked for in the plan or by the resource, else what its type names, else the general
 * setting, else the strongest that works here. `none` isolates nothing and is never taken by itself.
 */
export class StrategyChooser {
  readonly #registry: SandboxStrategyRegistry;
  readonly #settings: Settings;

  constructor(registry: SandboxStrategyRegistry, settings: Settings) {
    this.#registry = registry;
    this.#settings = settings;
  }

  async choose(
    resource: Resource,
    wanted?: { readonly strategy: string; readonly by: string },
  ): Promise<ChosenStrategy> {
    const choice = wanted ?? this.#fromType(resource.type) ?? this.#fromSettings();
    if (choice === undefined || choice.strategy === AUTOMATIC_STRATEGY) return await this.#strongest(resource);
    const registered = this.#registry.get(choice.strategy);
    const reason = await this.#whyNot(registered, resource);
    if (reason === undefined) return { strategy: choice.strategy, why: choice.by };
    throw new UnsupportedError(`${choice.strategy} does not work for ${resource.name}: ${reason}.`, {
      hint: "Choose another strategy, or leave the choice to Drydock.",
    });
  }

  #fromType(type: string): { readonly strategy: string; readonly by: string } | undefined {
    const declared = this.#settings.resourceTypes.find(({ name }) => name === type);
    if (declared === undefined) return undefined;
    if (declared.sandboxStrategy !== undefined)
      return { strategy: declared.sandboxStrategy, by: `named by the type ${type} in the config` };
    return this.#fromType(declared.extends);
  }

  #fromSettings(): { readonly strategy: string; readonly by: string } | undefined {
    const { strategy } = this.#settings.sandbox;
    return strategy === AUTOMATIC_STRATEGY ? undefined : { strategy, by: "named by sandbox.strategy in the config" };
  }

  async #strongest(resource: Resource): Promise<ChosenStrategy> {
    const passedOver: string[] = [];
    for (const registered of this.#registry.list()) {
      if (registered.capabilities.isolation === "none") continue;
      const reason = await this.#whyNot(registered, resource);
      if (reason === undefined) {
        const note = passedOver.length === 0 ? "" : `; passed over: ${passedOver.join("; ")}`;
        return { strategy: registered.name, why: `the strongest that works here${note}` };
      }
      if (this.#handles(registered, resource.type)) passedOver.push(`${registered.name}: ${reason}`);
    }
    throw new UsageError(
      `No strategy can isolate ${resource.name} (${resource.type})${passedOver.length === 0 ? "" : `: ${passedOver.join("; ")}`}.`,
      {
        hint: "See 'drydock strategy list' for what each one can isolate.",
        code: "NO_STRATEGY",
      },
    );
  }

  async #whyNot(registered: RegisteredStrategy, resource: Resource): Promise<string | undefined> {
    if (!this.#handles(registered, resource.type)) return `it can't isolate resources of type ${resource.type}`;
    const probed = (await registered.strategy.probe?.(resource)) ?? { works: true };
    return probed.works ? undefined : probed.reason;
  }

  #handles({ capabilities }: RegisteredStrategy, type: string): boolean {
    if (capabilities.resourceTypes === "all") return true;
    const declared = this.#settings.resourceTypes.find(({ name }) => name === type);
    return (
      capabilities.resourceTypes.includes(type) ||
      (declared !== undefined && this.#handles({ capabilities } as RegisteredStrategy, declared.extends))
    );
  }
}
