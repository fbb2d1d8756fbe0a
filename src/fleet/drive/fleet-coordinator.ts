import type { LandedCleanup } from "../../commit/cleanup/landed-cleanup.ts";
import { Coordinator } from "../../commit/coordinator.ts";
import type { Outcome } from "../../commit/outcome.ts";
import { messageOf, UsageError } from "../../core/errors/errors.ts";
import type { TransactionRecord } from "../../core/transaction.ts";
import type { OwnerRegistry } from "../../sandboxes/access/claims.ts";
import type { PlanSession } from "../../sandboxes/access/plan-session.ts";
import type { FleetLink } from "../link/fleet-link.ts";
import { drivingFrom } from "../protocol/drive.ts";
import { type Driven, TransactionDriver } from "./transaction-driver.ts";
import { awaitedHosts, awaitedText, hostsOf } from "./waiting.ts";

/** How long a command tries again after the decision. Then the service of its host goes on. */
const PATIENCE_MS = 10_000;

/**
 * Runs transactions: those of this host alone as on a machine that is alone, those over several hosts by the
 * database of the fleet. This process drives them; if it dies, the service of its host does, and if that host
 * dies, another one.
 */
export class FleetCoordinator extends Coordinator {
  readonly #link: FleetLink;
  readonly #session: PlanSession;
  readonly #cleanup: LandedCleanup;
  readonly #owners: OwnerRegistry;
  readonly #driver: TransactionDriver;

  constructor(link: FleetLink, session: PlanSession, cleanup: LandedCleanup, owners: OwnerRegistry) {
    super(session, cleanup);
    this.#link = link;
    this.#session = session;
    this.#cleanup = cleanup;
    this.#owners = owners;
    this.#driver = new TransactionDriver(link, session);
  }

  override async run(
    start: TransactionRecord,
    options: { readonly dryRun?: boolean } = {},
  ): Promise<Outcome> {
    if (start.participants.every(({ ref }) => ref.host === undefined)) return await super.run(start, options);
    const { hosts, host, rows, view } = this.#link;
    const own = await hosts.one(host);
    if (!own.isUp)
      throw new UsageError(`The service of this host, ${host}, is not up, and a plan over hosts needs it.`, {
        hint: "Start it: drydock host start",
        code: "HOST_AWAY",
      });
    view.epoch = own.epoch;
    const plan = await this.#session.plans.find(start.planId);
    const { owner, release } = this.#owners.enter();
    try {
      const me = { host, epoch: own.epoch, process: owner.id };
      const changes = await this.#driver.changes(start);
      const row = await rows.begin(start, me, { changes, owner: start.owner.id });
      const { signal } = this.#session.operations;
      const driven = await this.#driver.drive(drivingFrom(me, row, this.#driver.places(start, plan)), {
        signal,
        dryRun: options.dryRun === true,
        patienceMs: PATIENCE_MS,
      });
      return await this.#outcome(driven);
    } finally {
      release();
    }
  }

  async #outcome({ record, isLeft, cause }: Driven): Promise<Outcome> {
    if (!isLeft) {
      const warnings = record.phase === "done" ? await this.#cleanAfter(record) : [];
      return { record, unfinished: [], warnings, cause };
    }
    const awaited = awaitedHosts(record, {
      me: this.#link.host,
      hosts: await this.#link.hosts.these(hostsOf(record, this.#link.host)),
    });
    const unfinished = awaited.flatMap((host) =>
      host.resources.map((resource) => ({ resource, message: awaitedText(host) })),
    );
    const rest =
      unfinished.length > 0 ? unfinished : [{ resource: "", message: "another host goes on with it" }];
    return { record, unfinished: rest, warnings: [], cause };
  }

  /** Its claims are gone with its end, so what is left is removed under new ones. */
  async #cleanAfter(record: TransactionRecord): Promise<readonly string[]> {
    try {
      return await this.#session.plans.claimed(record.planId, () => this.#cleanup.after(record));
    } catch (thrown) {
      return [`the service of this host cleans up: ${messageOf(thrown)}`];
    }
  }
}
