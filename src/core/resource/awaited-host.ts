/** A host of a fleet for which a plan waits. */
export interface AwaitedHost {
  readonly host: string;
  /** The names of the resources there. */
  readonly resources: readonly string[];
  /** What it has to do: land, take back, or prepare. */
  readonly to: "prepare" | "land" | "take back";
  /** Since when the plan is in this step. */
  readonly since?: string;
  readonly isUp: boolean;
  /** Since when the host is up, or since when nothing was heard of it. */
  readonly hostSince?: string;
}
