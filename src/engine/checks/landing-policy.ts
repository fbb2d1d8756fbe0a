import { baseName } from "../../core/paths/byte-path.ts";
import type { LandingPolicy } from "../../core/strategy-policies.ts";
import type { Facts } from "../../system/calls/facts.ts";
import type { Xattrs } from "../../system/calls/xattrs.ts";
import type { BaseFacts } from "../base/base-facts.ts";
import type { TreeChange } from "../changes/change-set.ts";
import { lazyValue } from "../work/lazy-value.ts";

/**
 * Set-id programs and device nodes that a sandbox makes give power over the machine, so they do not land
 * unless the config allows it: a set-id bit or file capability is removed, a device is left out. Those that
 * the original had stay while their content is unchanged. The set-group bit of a folder only sets the group
 * of new files, and lands.
 */
const SET_ID = 0o6000;
const CAPABILITY = "security.capability";

/** Whether an entry of a sandbox is a mark of its layer, and not work. */
export type IsMark = (name: string, facts: Facts) => boolean;

/** The policy at work on one change set. */
export class LandingRules {
  readonly #policy: LandingPolicy;
  readonly #baseOf: (path: string) => BaseFacts | undefined;
  /** Needed only where something has a set-id bit or a capability. */
  readonly #newContent: () => ReadonlySet<string>;
  readonly #isMark: IsMark;

  constructor(
    policy: LandingPolicy,
    baseOf: (path: string) => BaseFacts | undefined,
    changes: Iterable<TreeChange>,
    isMark: IsMark = () => false,
  ) {
    this.#policy = policy;
    this.#isMark = isMark;
    this.#baseOf = baseOf;
    this.#newContent = lazyValue(
      () =>
        new Set(
          Iterator.from(changes)
            .filter(isNewContent)
            .map(({ path }) => path),
        ),
    );
  }

  /** The mode with which an entry of the sandbox lands. */
  mode(path: string, facts: Facts): number {
    if (this.#policy.allowSetid || !hasSetId(facts)) return facts.mode;
    const kept = this.#newContent().has(path) ? 0 : (this.#baseOf(path)?.mode ?? 0) & SET_ID;
    return facts.mode & (~SET_ID | kept);
  }

  /** Whether an entry of the sandbox lands at all. */
  lands(path: string, facts: Facts): boolean {
    if (this.#isMark(baseName(path), facts)) return false;
    return this.#policy.allowDevices || !isDevice(facts) || isSameDevice(facts, this.#baseOf(path));
  }

  /** The attributes with which an entry of the sandbox lands. */
  xattrs(path: string, xattrs: Xattrs): Xattrs {
    const capability = xattrs[CAPABILITY];
    if (this.#policy.allowSetid || capability === undefined) return xattrs;
    if (!this.#newContent().has(path) && this.#baseOf(path)?.xattrs[CAPABILITY] === capability) return xattrs;
    const { [CAPABILITY]: _, ...rest } = xattrs;
    return rest;
  }

  /**
   * Whether an entry of the sandbox lands unchanged. A file that can't be run yet counts too: a later plan
   * may make it a program.
   */
  landsAsIs(path: string, facts: Facts, readXattrs: () => Xattrs): boolean {
    if (!this.lands(path, facts) || this.mode(path, facts) !== facts.mode) return false;
    if (facts.kind !== "file") return true;
    const xattrs = readXattrs();
    return this.xattrs(path, xattrs) === xattrs;
  }
}

/** The warnings for a change that does not land unchanged. */
export function policyWarnings(change: TreeChange, policy: LandingPolicy): string[] {
  const { path, before, after } = change;
  if (after === undefined) return [];
  const rules = new LandingRules(policy, () => before, [change]);
  const warnings: string[] = [];
  if (!rules.lands(path, after))
    warnings.push("a device node made in a sandbox does not land (sandbox.allow_devices)");
  if (rules.mode(path, after) !== after.mode)
    warnings.push("lands without its set-id bits (sandbox.allow_setid)");
  const { xattrs } = change;
  if (xattrs !== undefined && rules.xattrs(path, xattrs) !== xattrs)
    warnings.push("lands without its file capability (sandbox.allow_setid)");
  return warnings;
}

/** Whether more than metadata changed. */
function isNewContent({ operation, parts }: TreeChange): boolean {
  return operation !== "deleted" && parts === undefined;
}

function hasSetId({ kind, mode }: Facts): boolean {
  return kind !== "directory" && (mode & SET_ID) !== 0;
}

function isDevice({ kind }: Facts): boolean {
  return kind === "device" || kind === "block-device";
}

function isSameDevice(facts: Facts, base: BaseFacts | undefined): boolean {
  return base?.kind === facts.kind && base.rdev === facts.rdev;
}
