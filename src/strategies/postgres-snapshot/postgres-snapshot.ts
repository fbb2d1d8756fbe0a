import type { TwoPhaseCapabilities } from "../../core/capabilities.ts";
import { CloneStrategy } from "../database-snapshot/clone-strategy.ts";
import { POSTGRES_CLONES } from "./postgres-clones.ts";

/** `snapshot` for PostgreSQL: rows and definitions land. */
export class PostgresSnapshotStrategy extends CloneStrategy {
  readonly capabilities: TwoPhaseCapabilities = {
    commit: "two-phase",
    undo: true,
    checkpoint: true,
    isolation: "copy",
    // Below transaction_rollback: a copy of a whole database has to be asked for.
    strength: 5,
    resourceTypes: ["postgres-database"],
  };
  protected readonly dialect = POSTGRES_CLONES;
}
