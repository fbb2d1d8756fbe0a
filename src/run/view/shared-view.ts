import { BusyError } from "../../core/errors/errors.ts";
import { isAtOrBelow } from "../../core/paths/byte-path.ts";
import { boundariesOf, type PlanRecord } from "../../core/plan.ts";
import type { Use } from "../../sandboxes/remains/uses.ts";
import { isProcessAlive } from "../../system/process/process-identity.ts";
import type { ShownSandbox } from "./shown-sandbox.ts";

const ALIKE =
  "Wait until it has ended, or give both the same policy: some programs get a profile by their name, unless you say --profile none.";

/** Whether a resource with its own sandbox lies inside another resource with its own sandbox. */
export function isInSandbox(plan: PlanRecord, resourceId: string): boolean {
  const { location } = plan.resources.find(({ resource }) => resource.id === resourceId)?.resource ?? {
    location: "",
  };
  return boundariesOf(plan).some(
    ({ resource }) =>
      resource.id !== resourceId &&
      resource.location.startsWith("/") &&
      isAtOrBelow(location, resource.location),
  );
}

/**
 * An overlay can be mounted only once, so all commands of a plan with one share the view of the first.
 * Returns the pid to join.
 */
export function viewToJoin(
  others: readonly Use[],
  { strict, policy }: Pick<Use, "strict" | "policy">,
  shown: readonly ShownSandbox[],
): number | undefined {
  const alive = others.filter(({ keeper: anchor }) => anchor !== undefined && isProcessAlive(anchor));
  const alike = alive.find((other) => other.strict === strict && other.policy === policy);
  const hasLayers = shown.some(({ view }) => view.kind === "layers");
  if (alike !== undefined && (!strict || hasLayers)) return alike.keeper?.pid;
  const [other] = alive;
  if (other === undefined || !hasLayers) return undefined;
  const differs =
    other.strict === strict
      ? "under another policy"
      : `and is ${other.strict ? "" : "not "}strict, but this command would ${strict ? "" : "not "}be`;
  throw new BusyError(`'${other.command}' is running in the plan (pid ${other.owner.pid}) ${differs}.`, {
    holder: `${other.command} (pid ${other.owner.pid})`,
    ...(other.strict === strict && { hint: ALIKE }),
  });
}
