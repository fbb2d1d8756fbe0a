import { boundaryOf, type PlanRecord } from "../core/plan.ts";
import type { SandboxRef } from "../core/sandbox.ts";
import type { GuardedStrategy } from "../strategies/custom/guarded-strategy.ts";
import { resourceVariables } from "./environment.ts";
import { pathsOf } from "./exec.ts";
import type { ShownSandbox } from "./view/shown-sandbox.ts";

/** A sandbox that a command is going to see. */
export interface Entered {
  readonly ref: SandboxRef;
  readonly strategy: GuardedStrategy;
  readonly shown?: ShownSandbox;
  /** A folder with the sockets of a resource that is no path of this machine. */
  readonly sockets?: string;
}

/** The variables of resources whose sandboxes are shown at paths other than their originals'. */
export function movedResources(
  plan: PlanRecord,
  entered: readonly Entered[],
): { readonly [name: string]: string } {
  const moved = new Map<string, string>();
  for (const { ref, shown } of entered)
    if (shown?.original !== undefined)
      for (const item of plan.resources)
        if (boundaryOf(plan, item).resource.id === ref.resourceId)
          moved.set(
            item.resource.id,
            item.within === undefined ? shown.at : `${shown.at}/${item.within.path}`,
          );
  return resourceVariables(plan, ({ id }) => moved.get(id));
}

/** The paths at which a command can write to resources of the plan. */
export function writablePaths(plan: PlanRecord, shown: readonly ShownSandbox[]): readonly string[] {
  const moved = new Set(shown.map(({ original }) => original));
  return [...pathsOf(plan).filter((path) => !moved.has(path)), ...shown.map(({ at }) => at)];
}

/** The variables that strategies give a command. */
export async function variablesOf(entered: readonly Entered[]): Promise<{ readonly [name: string]: string }> {
  const all = await Promise.all(entered.map(({ strategy, ref }) => strategy.environment(ref)));
  return Object.assign({}, ...all);
}
