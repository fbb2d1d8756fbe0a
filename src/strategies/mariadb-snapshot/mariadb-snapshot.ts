import type { TwoPhaseCapabilities } from "../../core/capabilities.ts";
import { CloneStrategy } from "../database-snapshot/clone-strategy.ts";
import { MARIADB_CLONES } from "./mariadb-clones.ts";

/** `snapshot` for MariaDB: rows land. Definitions do not, because each such statement commits by itself. */
export class MariadbSnapshotStrategy extends CloneStrategy {
  readonly capabilities: TwoPhaseCapabilities = {
    commit: "two-phase",
    undo: true,
    checkpoint: true,
    isolation: "copy",
    // Below transaction_rollback: a copy of a whole database has to be asked for.
    strength: 5,
    resourceTypes: ["mysql-database"],
  };
  protected readonly dialect = MARIADB_CLONES;
}
