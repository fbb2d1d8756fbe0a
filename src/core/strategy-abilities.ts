import type { ProgramView } from "./program-view.ts";
import type { PlainRecord, Resource } from "./resource/resource.ts";
import type { SandboxRef } from "./sandbox.ts";
import type { StatementResult } from "./values/query.ts";

/**
 * What a strategy may be able to do beyond the contract (strategy.ts), an interface for each ability. A
 * strategy that has one says so, and the compiler sees that it is whole: `class Mine implements
 * OnePhaseSandboxStrategy, Queryable`.
 */

/** The ability to run statements, in sandboxes of databases. */
export interface Queryable<Metadata extends PlainRecord = PlainRecord> {
  /**
   * Runs the statements of a script in the sandbox of a database and returns what each gave. Fails by
   * `StatementError` if one fails; unless the script is about transactions itself, nothing of it is left
   * then. With `readOnly` none may change anything.
   */
  query(
    ref: SandboxRef<Metadata>,
    script: string,
    options: { readonly readOnly: boolean },
  ): Promise<readonly StatementResult[]>;
}

/** The ability to show a sandbox to programs of the host. */
export interface Reachable<Metadata extends PlainRecord = PlainRecord> {
  /**
   * Where programs find the sandbox: a folder or a connection URL. What that takes (a mount) is made, and
   * stays until the work lands or goes.
   */
  path(ref: SandboxRef<Metadata>): Promise<string>;
}

/** The ability to show a sandbox to a program that takes more than its path. */
export interface Enterable<Metadata extends PlainRecord = PlainRecord> {
  /**
   * Called before a program is started inside by `run`; makes what programs need. May be called again while
   * others are inside. Where it is absent, `run` shows what is at `path`.
   */
  enter(ref: SandboxRef<Metadata>): Promise<ProgramView>;

  /** Called when the last program that was started inside has ended: what `enter` made goes. */
  leave(ref: SandboxRef<Metadata>): Promise<void>;
}

/** The ability to say where it works. */
export interface Probing {
  /**
   * Whether this strategy works on this machine for this resource, with the reason if not. Leaves nothing
   * behind.
   */
  probe(resource: Resource): Promise<ProbeResult>;

  /**
   * The ways in which it can work, the best first, and which of them do on this machine: what `doctor` shows
   * of it.
   */
  ways?(): Promise<readonly StrategyWay[]>;
}

export type ProbeResult =
  | { readonly works: true; readonly note?: string }
  | { readonly works: false; readonly reason: string };

/** One of several ways in which a strategy can work. */
export interface StrategyWay {
  readonly name: string;
  readonly works: boolean;
  /** What it is, or why it does not work. */
  readonly detail: string;
}
