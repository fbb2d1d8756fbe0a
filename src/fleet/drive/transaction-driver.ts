import { setTimeout as sleep } from "node:timers/promises";
import { DryRunEnd } from "../../commit/coordinator.ts";
import { Journal } from "../../commit/journal.ts";
import { attentionIn, historyDetails, landedAs, reportOf } from "../../commit/transaction-parts.ts";
import { advance } from "../../core/commit-machine.ts";
import { DrydockError, InterruptedError } from "../../core/errors/errors.ts";
import type { PlanRecord } from "../../core/plan.ts";
import { splitHost } from "../../core/resource/host-location.ts";
import type { TransactionRecord } from "../../core/transaction.ts";
import { SERVER_DOWN } from "../../database/server/server-errors.ts";
import type { PlanSession } from "../../sandboxes/access/plan-session.ts";
import type { StoreChange } from "../../store/store.ts";
import { failpoint, passFailpoint } from "../../system/failpoints.ts";
import type { FleetLink } from "../link/fleet-link.ts";
import { type Drive, interrupted, type NewCall, nextStep, type Place, type Step } from "../protocol/drive.ts";
import {
  type After,
  afterCalls,
  afterDecide,
  afterRead,
  afterSave,
  afterWait,
  type Known,
} from "../protocol/drive-results.ts";
import { Caller, type Received } from "../remote/caller.ts";

const POINTS = { calls: failpoint("drive.calls"), called: failpoint("drive.called") };
const PAUSE_MS = 1_000;

/** How a process drives. */
export interface Driving {
  /** Nothing is decided: all is prepared, then taken back. */
  readonly dryRun?: boolean;
  /** Interrupts it before the decision. */
  readonly signal?: AbortSignal;
  /** Ends the drive as it is; another process goes on. */
  readonly stops?: AbortSignal;
  /** How long to try again what could not be done yet. Absent: until it is done. */
  readonly patienceMs?: number;
}

/** How far a process came. */
export interface Driven {
  readonly record: TransactionRecord;
  /** Another process drives now, or it was stopped, or its patience ended. */
  readonly isLeft: boolean;
  /** What went wrong first. */
  readonly cause?: unknown;
}

/** Drives transactions over hosts: does what protocol/drive.ts says. */
export class TransactionDriver {
  readonly #link: FleetLink;
  readonly #session: PlanSession;
  readonly #journal: Journal;
  readonly #caller: Caller;

  constructor(link: FleetLink, session: PlanSession) {
    this.#link = link;
    this.#session = session;
    this.#journal = new Journal(session.store);
    this.#caller = new Caller(link);
  }

  /** What the record writes besides itself. */
  async changes(record: TransactionRecord, before?: TransactionRecord): Promise<readonly StoreChange[]> {
    return await this.#journal.changes(record, this.#told(record, before));
  }

  /** Where the participants are. */
  places(record: TransactionRecord, plan: PlanRecord): readonly Place[] {
    return record.participants.map(({ ref }) => {
      const location = plan.resources.find(({ resource }) => resource.id === ref.resourceId)?.resource
        .location;
      const original = location ?? ref.resourceId;
      return {
        host: ref.host ?? this.#link.host,
        original: splitHost(original)?.location ?? original,
      };
    });
  }

  async drive(start: Drive, how: Driving = {}): Promise<Driven> {
    const { id } = start.row.record;
    let [drive, cause, waitedMs] = [start, undefined as unknown, 0];
    while (how.stops?.aborted !== true) {
      const turned = this.#turned(drive, how);
      cause ??= turned.cause;
      drive = turned.drive;
      const step = nextStep(drive);
      if (step === undefined) return { record: drive.row.record, isLeft: false, cause };
      if (step.do === "wait") {
        if (waitedMs >= (how.patienceMs ?? Number.POSITIVE_INFINITY)) break;
        waitedMs += PAUSE_MS;
      }
      const { after, thrown } = await this.#perform(id, drive, step, how);
      cause ??= thrown;
      if (after === "stop") break;
      drive = after;
    }
    return { record: drive.next ?? drive.row.record, isLeft: true, cause };
  }

  /** Turns back what the user interrupts, and a dry run where the real one would decide. */
  #turned(drive: Drive, { signal, dryRun }: Driving): { readonly drive: Drive; readonly cause?: unknown } {
    if (signal?.aborted === true) {
      const turned = interrupted(drive);
      if (turned !== drive) return { drive: turned, cause: new InterruptedError() };
    }
    const step = nextStep(drive);
    if (dryRun !== true || step === undefined || !endsDryRun(step)) return { drive };
    const cause = new DryRunEnd("This was a dry run: everything was prepared and taken back.");
    const report = reportOf(drive.row.record, undefined, cause);
    return { drive: { ...drive, next: advance(drive.row.record, { was: "failed", ...report }) }, cause };
  }

  async #perform(
    id: string,
    drive: Drive,
    step: Step,
    how: Driving,
  ): Promise<{ readonly after: After; readonly thrown?: unknown }> {
    const { rows } = this.#link;
    switch (step.do) {
      case "read":
        return { after: afterRead(drive, await known(() => rows.read(id))) };
      case "decide":
        return { after: afterDecide(drive, await known(() => rows.decide(id, step.decision))) };
      case "save": {
        const record = this.#timed(step.save.record);
        const changes = await this.changes(record, drive.row.record);
        const result = await known(() => rows.save(drive.row, record, changes));
        return { after: afterSave(drive, { ...step.save, record }, result) };
      }
      case "call": {
        const received = await this.#calls(step.calls, how.dryRun === true);
        const replies = received.map(({ reply }) => reply);
        const thrown = received.find(({ error }) => error !== undefined)?.error;
        return { after: afterCalls(drive, step.calls, replies), thrown };
      }
      case "wait":
        await sleep(PAUSE_MS, undefined, { signal: how.stops }).catch(() => undefined);
        return { after: afterWait(drive) };
    }
  }

  async #calls(calls: readonly NewCall[], dryRun: boolean): Promise<readonly Received[]> {
    passFailpoint(POINTS.calls);
    const received = await Promise.all(
      calls.map(async ({ index: _, ...call }): Promise<Received> => {
        try {
          const request = { kind: "transaction" as const, call, dryRun };
          return await this.#caller.send({ host: call.host, request, args: [] });
        } catch (thrown) {
          if (!isOutOfReach(thrown)) throw thrown;
          return { reply: { said: "not-known" }, error: thrown as DrydockError };
        }
      }),
    );
    passFailpoint(POINTS.called);
    return received;
  }

  /** The machine leaves the times of the record to whoever saves it. */
  #timed(record: TransactionRecord): TransactionRecord {
    return record.finishedAt === "" ? { ...record, finishedAt: this.#session.now().toISOString() } : record;
  }

  /** What the history tells of a record that ends the transaction, or needs a person. */
  #told(record: TransactionRecord, before: TransactionRecord | undefined): readonly StoreChange[] {
    const { phase, direction, planId } = record;
    if (phase === before?.phase || !["landed", "aborted", "in-doubt"].includes(phase)) return [];
    const { history } = this.#session;
    const attention = attentionIn(record);
    const needed = attention === undefined ? [] : [history.entry(planId, "needs attention", attention)];
    if (phase === "in-doubt") return needed;
    const not = direction === "commit" ? "not applied" : "not undone";
    const event = phase === "landed" ? landedAs(record) : not;
    return [history.entry(planId, event, historyDetails(record)), ...needed];
  }
}

/** A commit in one phase is real at once, so a dry run ends before the first one. */
function endsDryRun(step: Step): boolean {
  if (step.do === "decide") return step.decision === "land";
  if (step.do === "save") return step.save.record.participants.some(({ status }) => status === "started");
  return (
    step.do === "call" && step.calls.some(({ method }) => method === "checkpoint" || method === "commit")
  );
}

/** The outcome of a statement, if it is known. */
async function known<T>(statement: () => Promise<T>): Promise<Known<T>> {
  try {
    return { was: "known", value: await statement() };
  } catch (thrown) {
    if (!isOutOfReach(thrown)) throw thrown;
    await sleep(PAUSE_MS);
    return { was: "not-known" };
  }
}

function isOutOfReach(thrown: unknown): boolean {
  return thrown instanceof DrydockError && thrown.code === SERVER_DOWN;
}
