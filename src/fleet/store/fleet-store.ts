import type { PlanRecord } from "../../core/plan.ts";
import { splitHost } from "../../core/resource/host-location.ts";
import type { SandboxRecord } from "../../core/sandbox.ts";
import type { TransactionRecord } from "../../core/transaction.ts";
import { SqlStore } from "../../store/sql-store.ts";
import type { IntentRecord } from "../../store/store.ts";
import type { HostView } from "./host-view.ts";
import type { PostgresRecords } from "./postgres-store.ts";

/**
 * The records of a fleet for one host. What it asks for to look after things is what it can look after: its
 * own. Only the service of a host (`drydock host start`) looks after plans of this host with resources of
 * others; a command would wait for those.
 */
export class FleetStore extends SqlStore {
  readonly #view: HostView;
  readonly #isService: boolean;
  readonly #onClose: () => void;

  constructor(records: PostgresRecords, view: HostView, isService: boolean, onClose: () => void) {
    super(records);
    this.#view = view;
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
    return all.filter(({ owner, participants }) => owner.host === this.#view.host && isHere(participants));
  }

  override async unfinishedPlans(): Promise<readonly PlanRecord[]> {
    const all = await super.unfinishedPlans();
    return all.filter(({ host, resources, joining = [] }) => {
      const isWholeHere = [...resources, ...joining].every(
        ({ resource }) => splitHost(resource.location) === undefined,
      );
      return host === undefined && (this.#isService || isWholeHere);
    });
  }

  override async liveSandboxes(): Promise<readonly SandboxRecord[]> {
    return (await super.liveSandboxes()).filter(({ ref }) => ref.host === undefined);
  }

  override async sandboxesOutside(folder: string): Promise<readonly SandboxRecord[]> {
    return (await super.sandboxesOutside(folder)).filter(({ ref }) => ref.host === undefined);
  }

  override async intents(): Promise<readonly IntentRecord[]> {
    return (await super.intents()).filter(({ owner }) => owner.host === this.#view.host);
  }

  override async undoRecords(finishedBefore: string): Promise<readonly TransactionRecord[]> {
    const all = await super.undoRecords(finishedBefore);
    return all.filter(
      ({ owner, participants }) =>
        owner.host === this.#view.host && (this.#isService || isHere(participants)),
    );
  }

  override async closedPlanIds(before: string, most: number): Promise<readonly string[]> {
    const ids = await super.closedPlanIds(before, most);
    const plans = await Promise.all(ids.map((id) => this.plan(id)));
    return plans.flatMap((plan) => (plan === undefined || plan.host !== undefined ? [] : [plan.id]));
  }
}

function isHere(participants: TransactionRecord["participants"]): boolean {
  return participants.every(({ ref }) => ref.host === undefined);
}
