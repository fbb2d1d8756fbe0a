/** What became of something that was done to every sandbox of a plan: it goes on after a failure, and lists what it could not do. */
export interface SweepReport {
  readonly done: readonly string[];
  readonly failed: readonly { readonly resource: string; readonly message: string; readonly cause: unknown }[];
}
