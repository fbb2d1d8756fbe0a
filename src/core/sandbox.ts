import type { StrategyCapabilities } from "./capabilities.ts";
import type { PlainRecord } from "./resource/resource.ts";
import type { SandboxState } from "./sandbox-states.ts";

/**
 * The identity of a sandbox: small, plain and durable. Any process can act on it; nothing lives only in
 * memory.
 */
export interface SandboxRef<Metadata extends PlainRecord = PlainRecord> {
  readonly sandboxId: string;
  readonly planId: string;
  readonly resourceId: string;
  readonly strategyName: string;
  /** The strategy's own plain data. `path`, if present, is where programs find the sandbox. */
  readonly metadata: Metadata;
  /** The capabilities of this sandbox, where it can do less than its strategy declares. */
  readonly capabilities?: Pick<StrategyCapabilities, "commit" | "undo" | "partial">;
  /**
   * The strategy's version and options when it made the sandbox; Drydock fills it in for custom strategies.
   */
  readonly madeWith?: MadeWith;
  /** The host of the fleet that has it, if that is another one than this. */
  readonly host?: string;
}

/** The version that a custom strategy declared, and its options. Later calls get the same options. */
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
   * The boot of the machine in which it was made: after a restart, work that was not on disk may be missing.
   */
  readonly bootId?: string;
}

/** The id of the sandbox of a resource in a plan; always the same. */
export function sandboxIdFor(planId: string, resourceId: string): string {
  return `${planId}-${resourceId}`;
}

/** The folder that holds everything of the sandbox, for the strategies that have one. */
export function workspaceOf({ metadata: { workspace } }: SandboxRef): string | undefined {
  return typeof workspace === "string" ? workspace : undefined;
}
