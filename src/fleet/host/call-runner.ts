import type { FullCapabilities } from "../../core/capabilities.ts";
import {
  BusyError,
  messageOf,
  SandboxConflictError,
  StateError,
  UnsupportedError,
} from "../../core/errors/errors.ts";
import type { PlanResource } from "../../core/plan.ts";
import { isLent } from "../../core/resource/lending.ts";
import type { Resource } from "../../core/resource/resource.ts";
import type { SandboxRef } from "../../core/sandbox.ts";
import type { TransactionRecord } from "../../core/transaction.ts";
import { decodeMarked, encodeMarked } from "../../core/values/marked-json.ts";
import { spooled } from "../../plans/entries/spool.ts";
import type { ResourceRequest } from "../../plans/plan-views.ts";
import type { SpawnedCommand, SpawnRequest } from "../../run/spawn.ts";
import type { PlanSession } from "../../sandboxes/access/plan-session.ts";
import { type ArgumentsOf, METHOD_NAMES, type MethodName } from "../../strategies/custom/method-table.ts";
import type { OriginalLocks } from "../../system/state/original-locks.ts";
import type { CallAnswer, TakenCall } from "../link/call-queue.ts";
import type { FleetLink } from "../link/fleet-link.ts";
import { lookAt } from "../link/host-look.ts";
import { type Answer, type Call, CONTRACT } from "../protocol/call.ts";
import { admit, noteBeforeLook, ran } from "../protocol/gate.ts";
import { holdsOriginal, type Note } from "../protocol/note.ts";
import type { Registration } from "../protocol/registration.ts";
import { plainOf } from "../remote/caller.ts";
import { LOOKS } from "../remote/elsewhere.ts";
import { Deeds } from "./deeds.ts";
import { serveCommand } from "./host-command.ts";

/** What a host does for others beside the contract of strategies. */
export interface HostServices {
  /** The resources of a plan, with the strategies that this host chooses. */
  resources(requests: readonly ResourceRequest[]): Promise<readonly PlanResource[]>;
  capabilities(
    strategy: string,
    subject: { readonly ref?: SandboxRef; readonly resource?: Resource },
  ): Promise<FullCapabilities>;
  /** Starts a command inside a plan. */
  spawn(plan: string, request: SpawnRequest): Promise<SpawnedCommand>;
}

interface RunnerParts {
  readonly link: FleetLink;
  readonly session: PlanSession;
  readonly services: HostServices;
  readonly locks: OriginalLocks;
  /** The words of the last start of this host, with what it has noted. */
  readonly from: () => Registration;
  /** The host is to end. */
  readonly stops: AbortSignal;
}

/** Methods that change a sandbox under the hands of a command. */
const NOT_BESIDE_COMMANDS: ReadonlySet<string> = new Set<MethodName>([
  ...(["checkpoint", "rollback", "restoreCheckpoint", "cleanup", "update", "resolve", "takeOut"] as const),
]);

/** What came of a call, to be sent back. */
export interface CallOutcome {
  readonly answer: CallAnswer;
  readonly result: string;
}

/** This host can't look at the database as its last start, so it answers nothing. */
export class NotCurrent extends Error {}

/** Runs the calls for this host, as its gate allows (protocol/gate.ts). */
export class CallRunner {
  readonly #parts: RunnerParts;
  readonly #deeds: Deeds;

  constructor(parts: RunnerParts) {
    this.#parts = parts;
    this.#deeds = new Deeds(parts.session.sandboxes);
  }

  async run(taken: TakenCall): Promise<CallOutcome> {
    const { request } = taken;
    try {
      switch (request.kind) {
        case "transaction":
          return await this.#transaction({ ...request.call, deadline: taken.deadline }, request.dryRun);
        case "change":
          return await this.#change(taken, { ...request.call, deadline: taken.deadline }, request);
        case "look":
          this.#assertUnderstood(taken);
          return done(await this.#look(taken, request.strategy, request.name));
        case "service":
          this.#assertUnderstood(taken);
          return done(await this.#service(taken, request.name));
      }
    } catch (thrown) {
      if (thrown instanceof NotCurrent) throw thrown;
      return { answer: { hasResult: false, error: plainOf(thrown) }, result: "" };
    }
  }

  #assertUnderstood({ contract, sender }: TakenCall): void {
    if (contract === CONTRACT) return;
    throw new StateError(
      `The host ${this.#parts.link.host} does not understand ${sender.host}: its Drydock has another version.`,
      { hint: "Bring all hosts to the same version of Drydock.", code: "HOST_REFUSED" },
    );
  }

  // ---- calls that the gate decides about

  async #transaction(sent: Call, dryRun: boolean): Promise<CallOutcome> {
    const original = await this.#originalOf(sent.plan, sent.sandbox);
    const call = { ...sent, original: original.location };
    let thrown: unknown;
    const answer = await this.#gated(call, async (note, record) => {
      try {
        if (record === undefined) throw new StateError("There is no such transaction any more.");
        await this.#assertLent(call.plan, original);
        if (call.method === "prepare") await this.#assertUnused(call.plan);
        return await this.#deeds.answer({ call, record, note, dryRun });
      } catch (failure) {
        thrown = failure;
        return failed(failure);
      }
    });
    return outcome(answer, thrown);
  }

  async #change(
    taken: TakenCall,
    sent: Call,
    { strategy, name }: { readonly strategy: string; readonly name: string },
  ): Promise<CallOutcome> {
    const args = decodeMarked(await this.#parts.link.queue.whole(taken.key, "arguments")) as unknown[];
    const resource =
      name === "create" ? (args[1] as Resource) : await this.#originalOf(sent.plan, sent.sandbox);
    let thrown: unknown;
    let result: unknown;
    const answer = await this.#gated({ ...sent, original: resource.location }, async () => {
      try {
        if (name === "create") await this.#assertNotDrained();
        await this.#assertLent(sent.plan, resource);
        result = await this.#beside(sent.plan, name, () =>
          this.#withFile(taken, name, args, async (given) => this.#method(strategy, name, given)),
        );
        return { said: "changed" };
      } catch (failure) {
        thrown = failure;
        return failed(failure);
      }
    });
    if (answer.said !== "changed") return outcome(answer, thrown);
    return { answer: { said: answer, hasResult: true }, result: encodeMarked(result ?? null) };
  }

  /** A command may run here that the sender can't see: it stands still meanwhile, or the call is refused. */
  async #beside<T>(planId: string, name: string, action: () => Promise<T>): Promise<T> {
    const { store, sandboxes } = this.#parts.session;
    const plan = NOT_BESIDE_COMMANDS.has(name) ? await store.plan(planId) : undefined;
    if (plan === undefined) return await action();
    if (name === "checkpoint") return await sandboxes.hold.during(plan, name, action);
    await this.#assertUnused(planId);
    return await action();
  }

  /** The steps of protocol/gate.ts. */
  async #gated(
    call: Call,
    run: (note: Note, record: TransactionRecord | undefined) => Promise<Answer>,
  ): Promise<Answer> {
    const { link, locks } = this.#parts;
    const { directory } = link;
    return await locks.during(call.original, async () => {
      const first = noteBeforeLook(directory.note(call.work, call.sandbox), call);
      if (first !== undefined) directory.write(first);
      const holders = directory
        .notesOf(call.original)
        .filter((note) => note.work !== call.work && holdsOriginal(note));
      const at = { host: link.host, from: this.#parts.from() };
      const works = holders.map(({ work }) => work);
      const look = await lookAt(link, at, { work: call.work, plan: call.plan, holders: works });
      if (look === undefined) throw new NotCurrent("Another start has the name of this host.");
      const admission = admit({
        ...{ call, holders, look, contracts: [CONTRACT] },
        note: directory.note(call.work, call.sandbox),
        isNotedFirst: first !== undefined,
      });
      if (admission.note !== undefined) directory.write(admission.note);
      if (admission.do === "answer") return admission.answer;
      const answer = await run(admission.note, look.row?.record);
      const end = ran(directory.note(call.work, call.sandbox) ?? admission.note, call, answer);
      directory.write(end.note);
      return end.answer;
    });
  }

  // ---- other calls

  async #look(taken: TakenCall, strategy: string, name: string): Promise<unknown> {
    const { link } = this.#parts;
    // The sender's word that a method changes nothing does not count.
    if (!LOOKS.has(name)) throw unknownMethod(link.host, name);
    const args = decodeMarked(await link.queue.whole(taken.key, "arguments")) as unknown[];
    const first = args[0] as SandboxRef | Resource | undefined;
    if (first !== undefined && "sandboxId" in first)
      await this.#assertLent(first.planId, await this.#originalOf(first.planId, first.sandboxId));
    else if (first !== undefined && taken.sender.host !== link.host) this.#assertLends(first);
    return await this.#method(strategy, name, args);
  }

  async #service(taken: TakenCall, name: string): Promise<unknown> {
    const { services, link } = this.#parts;
    const args = decodeMarked(await link.queue.whole(taken.key, "arguments")) as never[];
    switch (name) {
      case "resources": {
        await this.#assertNotDrained();
        const found = await services.resources(...(args as unknown as [readonly ResourceRequest[]]));
        if (taken.sender.host !== link.host) for (const { resource } of found) this.#assertLends(resource);
        return found;
      }
      case "capabilities":
        return await services.capabilities(...(args as unknown as [string, object]));
      case "exec": {
        const [plan, request] = args as unknown as [string, SpawnRequest];
        await this.#assertLentToRun(plan);
        const serving = { link, call: taken, ends: new AbortController(), stops: this.#parts.stops };
        return await serveCommand(serving, (signal) => services.spawn(plan, { ...request, signal }));
      }
      default:
        throw new UnsupportedError(`The host ${link.host} does not know '${name}'.`, {
          hint: "Bring all hosts to the same version of Drydock.",
        });
    }
  }

  async #method(strategy: string, name: string, args: readonly unknown[]): Promise<unknown> {
    const method = METHOD_NAMES.find((known) => known === name);
    if (method === undefined) throw unknownMethod(this.#parts.link.host, name);
    const guard = this.#parts.session.sandboxes.strategy(strategy);
    const called = guard[method] as (...given: ArgumentsOf<MethodName>) => Promise<unknown>;
    // What is left out has become null on the way.
    const given = args.map((each) => each ?? undefined) as unknown as ArgumentsOf<MethodName>;
    const result = await called(...given);
    return result ?? null;
  }

  /** A file that came along, for a method that takes one of this machine. */
  async #withFile(
    { key }: TakenCall,
    name: string,
    args: readonly unknown[],
    action: (args: readonly unknown[]) => Promise<unknown>,
  ): Promise<unknown> {
    if (name !== "writeFrom") return await action(args);
    const { link, session } = this.#parts;
    async function* content() {
      for (let position = 0; ; position += 1) {
        const piece = await link.queue.piece(key, "file", position);
        if (piece === undefined) return;
        yield Buffer.from(piece, "base64");
      }
    }
    return await spooled(link.stateDir, content(), session.operations, async ({ path }) =>
      action([...args, path]),
    );
  }

  // ---- what this host lends

  /** The resource of a sandbox, as this host knows it. */
  async #originalOf(planId: string, sandboxId: string): Promise<Resource> {
    const { store } = this.#parts.session;
    const plan = await store.plan(planId);
    const resourceId = sandboxId.slice(planId.length + 1);
    const all = [...(plan?.resources ?? []), ...(plan?.joining ?? [])];
    const found = all.find(({ resource }) => resource.id === resourceId)?.resource;
    if (found !== undefined) return found;
    throw new StateError(`The host ${this.#parts.link.host} knows no such sandbox.`, {
      code: "HOST_REFUSED",
    });
  }

  async #assertLent(planId: string, resource: Resource): Promise<void> {
    const plan = await this.#parts.session.store.plan(planId);
    if (plan?.host !== undefined) this.#assertLends(resource);
  }

  /** A command may run here that the sender can't see. */
  async #assertUnused(planId: string): Promise<void> {
    const { store, sandboxes } = this.#parts.session;
    const plan = await store.plan(planId);
    try {
      if (plan !== undefined) sandboxes.assertUnused(plan);
    } catch (thrown) {
      if (!(thrown instanceof BusyError)) throw thrown;
      const at = `On ${this.#parts.link.host}`;
      throw new BusyError(`${at}, ${thrown.message}`, {
        holder: thrown.holder,
        hint: `${at}: ${thrown.hint}`,
        code: thrown.code,
        cause: thrown,
      });
    }
  }

  async #assertLentToRun(key: string): Promise<void> {
    const { link, session } = this.#parts;
    const plan = await session.store.plan(key);
    if (plan?.host === undefined) return;
    for (const { resource } of plan.resources.filter(({ resource }) => isOwn(resource)))
      this.#assertLends(resource, true);
    if (!plan.resources.some(({ resource }) => isOwn(resource)))
      throw notLent(link.host, `the plan ${plan.name} has nothing here`);
  }

  #assertLends(resource: Resource, run = false): void {
    const { link } = this.#parts;
    const { location, type, lineage = [type] } = resource;
    if (isLent(link.settings.lend, { location, lineage }, run)) return;
    const what = run
      ? `it lets no commands of other hosts run with ${location}`
      : `it does not lend ${location}`;
    throw notLent(link.host, what);
  }

  async #assertNotDrained(): Promise<void> {
    const { hosts, host } = this.#parts.link;
    if (!(await hosts.one(host)).isDrained) return;
    throw new StateError(`The host ${host} is drained: it takes no new sandboxes.`, {
      hint: "Let it take new ones again, or use another host.",
      code: "HOST_REFUSED",
    });
  }
}

function isOwn({ location }: Resource): boolean {
  return location.startsWith("/") || /^[a-z][a-z0-9+.-]*:\/\//.test(location);
}

function unknownMethod(host: string, name: string): UnsupportedError {
  return new UnsupportedError(`The host ${host} knows no such method to call: '${name}'.`, {
    hint: "Bring all hosts to the same version of Drydock.",
  });
}

function notLent(host: string, what: string): StateError {
  return new StateError(`The host ${host} refused: ${what}.`, {
    hint: `What it lends is in 'fleet.lend' of its own drydock.yaml; what it has in force is shown with the host.`,
    code: "NOT_LENT",
  });
}

function done(result: unknown): CallOutcome {
  return { answer: { hasResult: true }, result: encodeMarked(result ?? null) };
}

/** The failure of a strategy is an answer too. */
function failed(thrown: unknown): Answer {
  const conflicts = thrown instanceof SandboxConflictError ? { conflicts: thrown.conflicts } : {};
  return { said: "failed", message: messageOf(thrown), ...conflicts };
}

function outcome(answer: Answer, thrown: unknown): CallOutcome {
  const error = thrown === undefined ? {} : { error: plainOf(thrown) };
  return { answer: { said: answer, hasResult: false, ...error }, result: "" };
}
