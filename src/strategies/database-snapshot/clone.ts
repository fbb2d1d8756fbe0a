import type { PlainRecord } from "../../core/resource/resource.ts";
import type { SandboxRef } from "../../core/sandbox.ts";
import type { IntendedPlace } from "../../core/strategy.ts";
import type { StrategyWay } from "../../core/strategy-abilities.ts";
import type { StatementResult } from "../../core/values/query.ts";
import type { CloneChanges, CloneWork, WayBack } from "../../database/server/clone/clone-changes.ts";
import type { ClonePlace } from "../../database/server/clone/clone-server.ts";
import type {
  Evidence,
  ServerLogin,
  ServerSession,
  TransactionName,
} from "../../database/server/server-database.ts";

/**
 * # What a dialect has to say about clones of its databases
 *
 * A clone is a copy of a database on a server of the plan's own. Beside it is its base: what the original had
 * when the copy was made. The work is what differs between both.
 *
 * The order of calls: `look`, then `make` once for each life of the sandbox, then anything else. Each method
 * of a clone but `end` starts the server if it does not run. `keepOut` comes before a comparison that lands.
 */
export interface CloneDialect {
  /** Why no clone can be made on this machine; undefined if one can. */
  whyNone(): Promise<string | undefined>;
  /** The mechanisms, for `doctor`. */
  ways(): Promise<readonly StrategyWay[]>;
  /**
   * Looks at an original, and makes nothing. Returns what the reference of its sandbox notes; fails if no
   * clone of it can be made, or if one could not land.
   */
  look(login: ServerLogin): Promise<PlainRecord>;
  /** What `prepareChanges` may make, beside a prepared transaction. */
  places(ref: CloneName, location: string): readonly IntendedPlace[];
  /** What a user has to know of a clone. */
  notes(ref: SandboxRef): readonly string[];
  open(parts: CloneParts): Promise<Clone>;
  /** Ends all servers in the folder of a clone, whose reference notes what `look` returned. */
  end(folder: string): Promise<void>;

  /**
   * Writes changes into the original, in one transaction that is then prepared. Each row that goes or changes
   * must be as it was: fails by `SandboxConflictError` with every row that is not. `note` records the attempt
   * durably before anything is written.
   */
  prepareChanges(
    login: ServerLogin,
    name: TransactionName,
    changes: CloneChanges,
    note: (attempt: Attempt) => void,
  ): Promise<Evidence>;
  /**
   * Removes what `prepareChanges` made beside the transaction, once the outcome is recorded. May be repeated.
   */
  forget(login: ServerLogin, of: CloneName): Promise<void>;
}

export type CloneName = Pick<SandboxRef, "planId" | "resourceId">;

/** A transaction on the original that may be prepared, or become so by what a dead process has sent. */
export interface Attempt {
  readonly name: TransactionName;
  readonly session: ServerSession;
}

/** What a clone is made of. */
export interface CloneParts {
  readonly place: ClonePlace;
  /** The user of the plan, and the name of the database, in the clone as in the original. */
  readonly user: string;
  readonly database: string;
  readonly ref: SandboxRef;
  /** What `make` returned; fails if it has not ended. */
  readonly facts: () => PlainRecord;
  readonly signal: AbortSignal;
}

export interface Clone {
  /**
   * Makes the clone and its base in the folder, which is empty, from the original as it is now. Clients are
   * kept out. Returns what has to be remembered.
   */
  make(original: ServerLogin, report: (task: string) => void): Promise<PlainRecord>;

  /** Lets no client in, until `letIn`. Fails while one is there. */
  keepOut(): Promise<void>;
  letIn(): Promise<void>;
  /** Starts the server unless it runs. */
  start(): Promise<void>;

  /** What differs from the base, in the clone or in a checkpoint of it. */
  work(checkpointId?: string): Promise<CloneWork>;
  /** What takes the work back after it has landed. */
  wayBack(work: CloneWork): Promise<WayBack>;
  /** Why something around the database keeps the work from landing. */
  whyNotAround(): Promise<string | undefined>;

  /** Saves the clone under a name of one use; returns how many bytes that takes. Fails while it is in use. */
  save(checkpointId: string): Promise<number>;
  /** Clients lose their connection. May be repeated after a crash. */
  bringBack(checkpointId: string): Promise<void>;
  discard(checkpointId: string): Promise<void>;

  /** The statements that make what the database has. */
  definitions(): Promise<readonly string[]>;
  /** The rows of the table at this path of a diff, if there is one. */
  table(path: string): Promise<StatementResult | undefined>;

  /** Runs a script as the user of the plan: in one transaction, unless it has its own. */
  run(script: string, options: { readonly readOnly: boolean }): Promise<readonly StatementResult[]>;
  /** How clients come in. */
  clientUrl(): string;
  environment(): { readonly [name: string]: string };
}
