import type { PlanRecord } from "../../core/plan.ts";
import { splitHost } from "../../core/resource/host-location.ts";
import type { TransactionRecord } from "../../core/transaction.ts";
import { SqlStore } from "../../store/sql-store.ts";
import type { PostgresRecords } from "./postgres-store.ts";

/**
 * The records of a fleet for one host. What it looks after is its own (`RecordFacts.ofThisHost`). Only the
 * service of a host (`drydock host start`) looks after plans of this host with resources of others; a command
 * would wait for those.
 */
export class FleetStore extends SqlStore {
  readonly #isService: boolean;
  readonly #onClose: () => void;

  constructor(records: PostgresRecords, isService: boolean, onClose: () => void) {
    super(records);
    this.#isService = isService;
    this.#onClose = onClose;
  }

  override close(): void {
    super.close();
    this.#onClose();
  }

  /** Those of this host alone: whoever drives one over several hosts finds it by its row. */
  override async unfinishedTransactions(): Promise<readonly TransactionRecord[]> {
    const all = await super.unfinishedTransactions();
    return all.filter(({ participants }) => isHere(participants));
  }

  override async unfinishedPlans(): Promise<readonly PlanRecord[]> {
    const all = await super.unfinishedPlans();
    return all.filter(({ resources, joining = [] }) => {
      const isWholeHere = [...resources, ...joining].every(
        ({ resource }) => splitHost(resource.location) === undefined,
      );
      return this.#isService || isWholeHere;
    });
  }

  override async undoRecords(finishedBefore: string): Promise<readonly TransactionRecord[]> {
    const all = await super.undoRecords(finishedBefore);
    return all.filter(({ participants }) => this.#isService || isHere(participants));
  }
}

function isHere(participants: TransactionRecord["participants"]): boolean {
  return participants.every(({ ref }) => ref.host === undefined);
}
