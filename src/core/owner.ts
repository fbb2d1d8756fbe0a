/**
 * The process that holds or does something, identified so that neither a reused pid nor a zombie passes for
 * it.
 */
export interface Owner {
  /** Unpredictable; also names the lock file that the living process holds. */
  readonly id: string;
  readonly host: string;
  readonly bootId: string;
  readonly pid: number;
  /** Start time of the pid in clock ticks since boot. */
  readonly startTime: string;
  /** The command of the process, for messages: "drydock plan apply". */
  readonly command: string;
}
