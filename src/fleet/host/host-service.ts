import { setTimeout as sleep } from "node:timers/promises";
import type { LandedCleanup } from "../../commit/cleanup/landed-cleanup.ts";
import { BusyError, DrydockError, messageOf, StateError } from "../../core/errors/errors.ts";
import type { Owner } from "../../core/owner.ts";
import type { TransactionRecord } from "../../core/transaction.ts";
import { SERVER_DOWN } from "../../database/server/server-errors.ts";
import type { OwnerRegistry } from "../../sandboxes/access/claims.ts";
import type { PlanSession } from "../../sandboxes/access/plan-session.ts";
import { lockOfService, OriginalLocks } from "../../system/state/original-locks.ts";
import { TransactionDriver } from "../drive/transaction-driver.ts";
import type { TakenCall } from "../link/call-queue.ts";
import type { FleetLink } from "../link/fleet-link.ts";
import { lookAt } from "../link/host-look.ts";
import type { Driver } from "../protocol/call.ts";
import { drivingFrom, settledAs, takenOver } from "../protocol/drive.ts";
import { countsOnLeaseUntil, LEASE_TERMS } from "../protocol/lease.ts";
import { type Note, released, takenBackHere } from "../protocol/note.ts";
import type { Registration, RegistrationProblem } from "../protocol/registration.ts";
import { upkeepOf } from "../protocol/upkeep.ts";
import { CallRunner, type HostServices, NotCurrent } from "./call-runner.ts";
import { Deeds } from "./deeds.ts";

export interface HostServiceParts {
  readonly link: FleetLink;
  readonly session: PlanSession;
  readonly services: HostServices;
  readonly cleanup: LandedCleanup;
  readonly owners: OwnerRegistry & { isAlive(owner: { readonly id: string }): boolean };
  /** What every start does first, and a host now and then. */
  readonly keepHouse: () => Promise<void>;
  readonly version: string;
}

/** How a host is run. */
export interface Serving {
  readonly signal: AbortSignal;
  readonly onReady: (facts: { readonly host: string }) => void;
  readonly onNotice: (message: string) => void;
}

const RENEW_MS = LEASE_TERMS.lengthMs / 4;
const POLL_MS = 2_000;
const UPKEEP_MS = 3_000;
const HOUSE_MS = 60_000;
/** How many calls run at once, beside commands, which may take as long as they like. */
const MOST_AT_ONCE = 16;
/** How long calls that run may take to end when the host is to end. */
const FAREWELL_MS = 30_000;

/**
 * The service of a host (`drydock host start`): keeps its lease, runs the calls for it, looks after what it
 * has noted, and drives transactions whose driver is gone.
 */
export class HostService {
  readonly #parts: HostServiceParts;
  readonly #runner: CallRunner;
  readonly #driver: TransactionDriver;
  readonly #locks: OriginalLocks;
  readonly #running = new Map<string, Promise<void>>();
  /** Those of them that are no commands. */
  readonly #calls = new Set<Promise<void>>();
  readonly #driving = new Map<string, Promise<void>>();
  readonly #cleaned = new Set<string>();
  readonly #stops = new AbortController();
  #registration: Registration | undefined;
  #countsUntil = 0;
  #owner: Owner | undefined;
  #failure: unknown;
  #notice: (message: string) => void = () => undefined;

  constructor(parts: HostServiceParts) {
    this.#parts = parts;
    const { link, session, services } = parts;
    this.#locks = new OriginalLocks(link.stateDir);
    const runner = { link, session, services, locks: this.#locks, from: () => this.#from() };
    this.#runner = new CallRunner({ ...runner, stops: this.#stops.signal });
    this.#driver = new TransactionDriver(link, session);
  }

  /** Runs until the signal. */
  async serve({ signal, onReady, onNotice }: Serving): Promise<void> {
    const { link, owners, version } = this.#parts;
    const { host, directory, hosts } = link;
    using only = lockOfService(link.stateDir);
    if (only === undefined)
      throw new BusyError(`The host ${host} is up already: another process serves it.`, {
        holder: "its service",
      });
    this.#notice = onNotice;
    signal.addEventListener("abort", () => this.#stops.abort(), { once: true });
    if (signal.aborted) return;
    const state = directory.starting();
    const found = await hosts.register(host, state, { drydock: version, lend: link.settings.lend });
    if (typeof found === "string") throw refusedStart(host, found);
    directory.started(state);
    this.#registration = found;
    const { owner, release } = owners.enter();
    this.#owner = owner;
    try {
      await this.#lease();
      await this.#dropDeadClaims();
      await this.#upkeep();
      onReady({ host });
      await Promise.all([
        this.#again(RENEW_MS, () => this.#lease()),
        this.#again(UPKEEP_MS, () => this.#upkeep()),
        this.#again(HOUSE_MS, () => this.#house()),
        this.#take(),
      ]);
      await this.#end();
    } finally {
      release();
    }
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** What every word of this host to the database carries. */
  #from(): Registration {
    if (this.#registration === undefined) throw new Error("The host is not registered.");
    return { ...this.#registration, notes: this.#parts.link.directory.count };
  }

  /** Does something again and again, until the host ends. A database out of reach comes back. */
  async #again(ms: number, action: () => Promise<void>): Promise<void> {
    while (!this.#stops.signal.aborted) {
      await sleep(ms, undefined, { signal: this.#stops.signal }).catch(() => undefined);
      if (this.#stops.signal.aborted) return;
      await this.#tolerant(action);
    }
  }

  async #tolerant(action: () => Promise<void>): Promise<void> {
    try {
      await action();
    } catch (thrown) {
      if (thrown instanceof NotCurrent || (thrown instanceof StateError && thrown.code === "HOST_NAME_TAKEN"))
        this.#fail(thrown);
      else this.#notice(messageOf(thrown));
      if (thrown instanceof DrydockError && thrown.code === SERVER_DOWN) return;
      await sleep(200);
    }
  }

  #fail(thrown: unknown): void {
    this.#failure = thrown instanceof NotCurrent ? refusedStart(this.#parts.link.host, "other-copy") : thrown;
    this.#stops.abort();
  }

  // ---- the lease

  /** Renews the lease, or takes it anew: also if an earlier start of this host still has it. */
  async #lease(): Promise<void> {
    const { link } = this.#parts;
    const { hosts, host, view } = link;
    const sentAt = performance.now();
    const isRenewed = this.#countsUntil > 0 && (await hosts.renewLease(host, this.#from(), view.epoch));
    if (!isRenewed) {
      let follows = view.epoch;
      for (;;) {
        const { isTaken, epoch } = await hosts.takeLease(host, this.#from(), follows);
        view.epoch = epoch;
        if (isTaken) break;
        follows = epoch;
      }
    }
    this.#countsUntil = countsOnLeaseUntil(sentAt, LEASE_TERMS);
  }

  /** Who drives, while this host counts on its lease. */
  get #me(): Driver | undefined {
    if (performance.now() >= this.#countsUntil) return undefined;
    const { host, view } = this.#parts.link;
    return { host, epoch: view.epoch, process: this.#owner?.id ?? "" };
  }

  // ---- calls

  async #take(): Promise<void> {
    const { queue, host, bell } = this.#parts.link;
    while (!this.#stops.signal.aborted) {
      const { rings } = bell;
      let call: TakenCall | undefined;
      await this.#tolerant(async () => {
        if (this.#calls.size >= MOST_AT_ONCE) return;
        const taken = await queue.take(host, this.#from(), [...this.#running.keys()]);
        if (!taken.isCurrent) throw new NotCurrent();
        call = taken.call;
      });
      if (call !== undefined) this.#begin(call);
      else if (this.#calls.size >= MOST_AT_ONCE) await Promise.race(this.#calls);
      else await bell.next(rings, POLL_MS, this.#stops.signal);
    }
  }

  #begin(call: TakenCall): void {
    const run = this.#run(call).finally(() => {
      this.#running.delete(call.key);
      this.#calls.delete(run);
    });
    this.#running.set(call.key, run);
    if (call.request.kind !== "service" || call.request.name !== "exec") this.#calls.add(run);
  }

  async #run(call: TakenCall): Promise<void> {
    const { queue } = this.#parts.link;
    try {
      const { answer, result } = await this.#runner.run(call);
      for (;;) {
        try {
          await queue.answer(call, this.#from(), answer, result);
          return;
        } catch (thrown) {
          // The answer is noted: whoever asks again gets it.
          if (!isOutOfReach(thrown) || this.#stops.signal.aborted) throw thrown;
          await sleep(POLL_MS);
        }
      }
    } catch (thrown) {
      if (thrown instanceof NotCurrent) this.#fail(thrown);
      else this.#notice(`a call could not be answered: ${messageOf(thrown)}`);
    }
  }

  // ---- upkeep

  async #upkeep(): Promise<void> {
    const { directory } = this.#parts.link;
    for (const note of directory.notes()) {
      if (this.#running.size > 0 && [...this.#running.keys()].some((key) => key.startsWith(note.work)))
        continue;
      await this.#upkeepOf(note);
    }
    await this.#drive();
  }

  async #upkeepOf({ work, sandbox, plan, original }: Note): Promise<void> {
    const { link, session } = this.#parts;
    const { directory } = link;
    await this.#locks.during(original, async () => {
      const at = { host: link.host, from: this.#from() };
      const look = await lookAt(link, at, { work, plan, holders: [] });
      if (look === undefined) throw new NotCurrent();
      const note = directory.note(work, sandbox);
      if (note === undefined) return;
      switch (upkeepOf(note, look)) {
        case "take-back": {
          if (look.row === undefined) return;
          const attention = await new Deeds(session.sandboxes).takeBack(look.row.record, note);
          directory.write(takenBackHere(directory.note(work, sandbox) ?? note, attention));
          return;
        }
        case "release":
          return directory.write(released(note));
        case "forget":
          return directory.forget(note);
        case "nothing":
      }
    });
  }

  async #house(): Promise<void> {
    const { link, keepHouse } = this.#parts;
    await keepHouse();
    await this.#dropDeadClaims();
    await this.#cleanUp();
    await link.queue.prune();
    await link.rows.prune();
  }

  /** Other hosts can't judge what processes of this one held, and leave it. */
  async #dropDeadClaims(): Promise<void> {
    const { session, owners } = this.#parts;
    if (this.#owner !== undefined)
      await session.store.claim([], this.#owner, (owner) => owners.isAlive(owner));
  }

  // ---- driving

  /** Takes over the transactions whose driver is gone: of this host a dead process, of others their lease. */
  async #drive(): Promise<void> {
    const { link, owners } = this.#parts;
    const me = this.#me;
    if (me === undefined) return;
    for (const { id, planId, phase, driver, isDriven } of await link.rows.open()) {
      if (this.#driving.has(id) || phase === "in-doubt") continue;
      const isOwn = driver.host === link.host;
      const isMine = isOwn && driver.process === me.process && driver.epoch === me.epoch;
      const isDead = isOwn && !isMine && !owners.isAlive({ id: driver.process });
      if (!isDead && !isMine && isDriven) continue;
      const row = await link.rows.takeOver(id, me, isDead || isMine ? driver.process : undefined);
      if (row === undefined) continue;
      const driving = this.#driveOne(planId, me, row).finally(() => this.#driving.delete(id));
      this.#driving.set(id, driving);
    }
  }

  async #driveOne(planId: string, me: Driver, row: Parameters<typeof drivingFrom>[1]): Promise<void> {
    try {
      const plan = await this.#parts.session.plans.find(planId);
      const places = this.#driver.places(row.record, plan);
      const start = takenOver(drivingFrom(me, row, places));
      const { record, isLeft } = await this.#driver.drive(start, { stops: this.#stops.signal });
      if (!isLeft && record.phase === "done") await this.#cleanAfter(record);
    } catch (thrown) {
      this.#notice(`plan ${planId}: ${messageOf(thrown)}`);
    }
  }

  /** Removes what landed transactions over hosts left, whose command died before it could. */
  async #cleanUp(): Promise<void> {
    const { store } = this.#parts.session;
    for (const planId of await this.#parts.link.records.texts(
      `SELECT DISTINCT plan_id AS text FROM sandboxes JOIN plans ON plans.id = plan_id
        WHERE sandboxes.state <> 'CLEANED_UP' AND plans.state IN ('applied', 'undone')
        AND EXISTS (SELECT FROM fleet_transactions f WHERE f.plan_id = plans.id)`,
    )) {
      const plan = await store.plan(planId);
      const last = (await store.transactionsOf(planId)).filter(({ phase }) => phase === "done").at(-1);
      if (plan === undefined || plan.host !== undefined || last === undefined) continue;
      if (this.#cleaned.has(last.id)) continue;
      await this.#cleanAfter(last);
    }
  }

  async #cleanAfter(record: TransactionRecord): Promise<void> {
    const { session, cleanup } = this.#parts;
    const warnings = await session.plans.claimed(record.planId, () => cleanup.after(record));
    for (const warning of warnings) this.#notice(`plan ${record.planId}: ${warning}`);
    if (warnings.length === 0) this.#cleaned.add(record.id);
  }

  /** Lets what runs end, and gives back the lease. What drives stops: another host goes on with it. */
  async #end(): Promise<void> {
    const { hosts, host, view } = this.#parts.link;
    const farewell = sleep(FAREWELL_MS, undefined, { ref: false });
    await Promise.race([
      Promise.allSettled([...this.#running.values(), ...this.#driving.values()]),
      farewell,
    ]);
    if (this.#failure === undefined) await hosts.leave(host, view.epoch).catch(() => undefined);
  }
}

/** Goes on with what is in doubt by the word of a person. */
export async function settleInDoubt(
  { link, session, owners }: Pick<HostServiceParts, "link" | "session" | "owners">,
  { id, planId }: { readonly id: string; readonly planId: string },
  how: "commit" | "abort",
  patienceMs: number,
) {
  const { owner, release } = owners.enter();
  try {
    const { epoch } = await link.hosts.one(link.host);
    const me = { host: link.host, epoch, process: owner.id };
    const row = await link.rows.takeOver(id, me);
    if (row === undefined)
      throw new BusyError("Another process goes on with this transaction just now.", {
        holder: "another process of the fleet",
      });
    const driver = new TransactionDriver(link, session);
    const places = driver.places(row.record, await session.plans.find(planId));
    return await driver.drive(settledAs(drivingFrom(me, row, places), how), { patienceMs });
  } finally {
    release();
  }
}

function isOutOfReach(thrown: unknown): boolean {
  return thrown instanceof DrydockError && thrown.code === SERVER_DOWN;
}

function refusedStart(host: string, problem: RegistrationProblem): StateError {
  const why = {
    "other-directory": "its name belongs to another state directory",
    "other-copy": "another copy of this state directory was started since",
    "older-copy": "this is an older copy of its state directory, which lacks what was done since",
  }[problem];
  return new StateError(`The host ${host} can't start here: ${why}.`, {
    hint: "Start it from the state directory that was used last. If that is lost for good: remove it from the fleet on another host, then start it under a new name.",
    code: "HOST_NAME_TAKEN",
  });
}
