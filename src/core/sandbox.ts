import type { StrategyCapabilities } from "./capabilities.ts";
import type { PlainRecord } from "./resource/resource.ts";
import type { SandboxState } from "./sandbox-states.ts";

/**
 * How a sandbox is known everywhere: small, plain and durable. Any process can act on it; nothing lives only
 * in memory.
 */
export interface SandboxRef<Metadata extends PlainRecord = PlainRecord> {
  readonly sandboxId: string;
  readonly planId: string;
  readonly resourceId: string;
  readonly strategyName: string;
  /** The strategy's own plain data. `path`, if it is there, is where programs find the sandbox. */
  readonly metadata: Metadata;
  /** Where this one can do less than its strategy declares: what it can do. */
  readonly capabilities?: Pick<StrategyCapabilities, "commit" | "undo" | "partial">;
  /** What the strategy was when it made the sandbox; Drydock fills it in for strategies of the user's own. */
  readonly madeWith?: MadeWith;
}

/**
 * The version that a strategy of the user's own declared, and the options that it got. It is called with the
 * same options ever after.
 */
export interface MadeWith {
  readonly version?: string;
  readonly options?: PlainRecord;
}

/** A sandbox as the store keeps it. */
export interface SandboxRecord {
  readonly ref: SandboxRef;
  readonly state: SandboxState;
  /** Why it is ERRORED. */
  readonly error?: string;
  readonly createdAt: string;
  /**
   * The boot of the machine that it was made in: after another one, work in it that was not on disk may be
   * missing.
   */
  readonly bootId?: string;
}

/** The id of the sandbox of a resource in a plan: the same however often it is asked for. */
export function sandboxIdFor(planId: string, resourceId: string): string {
  return `${planId}-${resourceId}`;
}
