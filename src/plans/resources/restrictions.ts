import { SelfRunningError, UsageError } from "../../core/errors/errors.ts";
import { displayPath, isAtOrBelow, ROOT_PATH } from "../../core/paths/byte-path.ts";
import { boundaryOf, type PlanRecord, type PlanResource } from "../../core/plan.ts";
import {
  RESOURCE_CAPABILITIES,
  type ResourceCapability,
  type ResourceType,
} from "../../core/resource/resource-types.ts";
import { type PlanSandboxes, resourceOf } from "../../sandboxes/plan-sandboxes.ts";
import type { PlanChange, SelfRunningChange } from "../plan-views.ts";

/** The restrictions of the resource's type, stored with the plan; absent if everything is allowed. */
export function restrictionOf({ capabilities }: ResourceType): Pick<PlanResource, "may"> {
  return RESOURCE_CAPABILITIES.every((known) => capabilities.includes(known)) ? {} : { may: capabilities };
}

/** Refuses an operation that the type of a resource does not allow. */
export function assertMay({ resource, may }: PlanResource, wanted: ResourceCapability): void {
  if (may === undefined || may.includes(wanted)) return;
  throw notAllowed(resource.name, resource.type, wanted);
}

/** Refuses to change the sandbox of a resource in a read-only plan, or of a type that may not be written. */
export function assertWritable(plan: PlanRecord, resource: string | undefined): void {
  if (plan.readOnly) throw new UsageError(`The plan ${plan.name} is read-only.`, { code: "READ_ONLY" });
  assertMay(resourceOf(plan, resource), "write");
}

/**
 * Refuses to land changes of resources whose type allows none. For a path inside several resources, the
 * innermost counts.
 */
export function assertMayLand(plan: PlanRecord, changes: readonly PlanChange[]): void {
  for (const change of changes) {
    const { resource, may } = innermost(plan, change);
    if (may === undefined || may.includes("write")) continue;
    throw notAllowed(resource.name, resource.type, "write", change.path);
  }
}

/** Refuses to land self-running files without the user's word. */
export function assertHasWord(
  landing: readonly PlanChange[],
  selfRunning: readonly SelfRunningChange[],
): void {
  const lands = new Set(landing.map(({ resource, path }) => JSON.stringify([resource, path])));
  const files = selfRunning
    .filter(({ needsWord, resource, path }) => needsWord && lands.has(JSON.stringify([resource, path])))
    .map(({ resource, path, tool, why }) => ({ resource, path, tool, why }));
  if (files.length > 0) throw new SelfRunningError(files);
}

/** Whether the plan has a resource that must not change, so that an apply has to check the changes. */
export function hasUnwritable(plan: PlanRecord): boolean {
  return plan.resources.some(({ may }) => may?.includes("write") === false);
}

/**
 * Refuses work in place, which changes originals at once, unless the user allows it when the plan is made.
 */
export async function assertNotInPlace(
  sandboxes: PlanSandboxes,
  resources: readonly PlanResource[],
): Promise<void> {
  for (const item of resources) {
    const { resource, strategy } = item;
    if ((await sandboxes.capabilities(item)).commit !== "in-place") continue;
    throw new UsageError(
      `${resource.name} would be worked on in place (${strategy}): nothing of it could be taken back.`,
      { code: "IRREVERSIBLE" },
    );
  }
}

function innermost(plan: PlanRecord, { resource: name, path }: PlanChange): PlanResource {
  const around = plan.resources.filter(
    (item) =>
      boundaryOf(plan, item).resource.name === name &&
      (item.within === undefined || path === ROOT_PATH || isAtOrBelow(path, item.within.path)),
  );
  const depth = ({ within }: PlanResource) => within?.path.length ?? 0;
  const [first] =
    path === ROOT_PATH
      ? around.filter(({ within }) => within === undefined)
      : around.toSorted((a, b) => depth(b) - depth(a));
  if (first === undefined) throw new Error(`The plan ${plan.id} has no resource called ${name}.`);
  return first;
}

const VERBS: { readonly [capability in ResourceCapability]: string } = {
  read: "be read",
  write: "be changed",
  sandbox: "have a sandbox of its own",
  checkpoint: "be saved",
};

function notAllowed(name: string, type: string, wanted: ResourceCapability, path?: string): UsageError {
  const what = path === undefined ? "" : `: ${displayPath(path)} would be`;
  return new UsageError(
    `${name} can't ${VERBS[wanted]}, because its type ${type} does not allow it${what}.`,
    { code: "NOT_ALLOWED", details: { type } },
  );
}
