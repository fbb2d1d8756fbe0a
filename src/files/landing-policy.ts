import type { LandingPolicy } from "../core/strategy.ts";
import { type Facts, sameTime } from "../system/facts.ts";
import type { BaseFacts } from "./baseline.ts";

/**
 * Set-id programs and device nodes made inside a sandbox give power over the machine, so they do not land unless the config says
 * so: a set-id bit is taken off, a device is left out. What the original had already, unchanged, stays. The set-group bit of a
 * folder only says which group new files get, and lands.
 */
const SET_ID = 0o6000;

/** The mode with which a file of the sandbox lands. */
export function landingMode(after: Facts, before: BaseFacts | undefined, policy: LandingPolicy): number {
  if (policy.allowSetid || after.kind === "directory" || (after.mode & SET_ID) === 0) return after.mode;
  return isUnchangedContent(after, before) ? after.mode & (~SET_ID | before.mode) : after.mode & ~SET_ID;
}

/** Whether an entry of the sandbox lands at all. */
export function lands(after: Facts, before: BaseFacts | undefined, policy: LandingPolicy): boolean {
  if (after.kind !== "device" && after.kind !== "block-device") return true;
  return policy.allowDevices || before?.kind === after.kind;
}

/** What to tell the user about an entry that does not land as it is. */
export function policyWarnings(after: Facts, before: BaseFacts | undefined, policy: LandingPolicy): string[] {
  const warnings: string[] = [];
  if (!lands(after, before, policy))
    warnings.push("a device node made in a sandbox does not land (sandbox.allow_devices)");
  if (landingMode(after, before, policy) !== after.mode)
    warnings.push("lands without its set-id bits (sandbox.allow_setid)");
  return warnings;
}

function isUnchangedContent(after: Facts, before: BaseFacts | undefined): before is BaseFacts {
  return (
    before !== undefined &&
    before.kind === after.kind &&
    before.size === after.size &&
    sameTime(before.mtime, after.mtime)
  );
}
