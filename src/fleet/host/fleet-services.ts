import { isDeepStrictEqual } from "node:util";
import type { HeldTransaction } from "../../commit/cleanup/abandonment.ts";
import type { LandedCleanup } from "../../commit/cleanup/landed-cleanup.ts";
import type { RecoveryReport } from "../../commit/recovery.ts";
import { BusyError, UsageError } from "../../core/errors/errors.ts";
import type { PlanRecord } from "../../core/plan.ts";
import type { AwaitedHost } from "../../core/resource/awaited-host.ts";
import type { TransactionRecord } from "../../core/transaction.ts";
import type { PlanCreation } from "../../plans/plan-creation.ts";
import type { SpawnedCommand, SpawnRequest } from "../../run/spawn.ts";
import type { PlanSession } from "../../sandboxes/access/plan-session.ts";
import type { SandboxStrategyRegistry } from "../../strategies/registry.ts";
import type { MachineOwners } from "../../system/state/machine.ts";
import { awaitedHosts, awaitedText } from "../drive/waiting.ts";
import type { FleetLink } from "../link/fleet-link.ts";
import type { FleetHost } from "../link/hosts.ts";
import { type HostCommand, type HostCommandRequest, RemoteCommand } from "../remote/remote-command.ts";
import type { FleetCheck } from "./fleet-checks.ts";
import type { Serving } from "./host-service.ts";

export interface FleetParts {
  readonly link: FleetLink;
  readonly session: PlanSession;
  readonly owners: MachineOwners;
  readonly registry: SandboxStrategyRegistry;
  readonly creation: () => Promise<PlanCreation>;
  readonly cleanup: LandedCleanup;
  readonly spawn: (plan: string, request: SpawnRequest) => Promise<SpawnedCommand>;
  readonly keepHouse: () => Promise<void>;
}

/** A plan that waits for a host. */
export interface WaitingPlan {
  readonly planId: string;
  readonly planName: string;
  readonly state: string;
  readonly since: string;
}

const SETTLING_MS = 10_000;

/** A fleet for those who use this host: its hosts, commands on others, and the service of this one. */
export class FleetServices {
  readonly #parts: FleetParts;

  constructor(parts: FleetParts) {
    this.#parts = parts;
  }

  /** The name of this host. */
  get host(): string {
    return this.#parts.link.host;
  }

  async hosts(): Promise<readonly FleetHost[]> {
    return await this.#parts.link.hosts.all();
  }

  /** What the fleet has and lacks. */
  async checks(): Promise<readonly FleetCheck[]> {
    const { fleetChecks } = await import("./fleet-checks.ts");
    return await fleetChecks(this.#parts.link);
  }

  /** A host, with the plans that wait for it. */
  async show(name: string): Promise<FleetHost & { readonly plans: readonly WaitingPlan[] }> {
    const { link, session } = this.#parts;
    const host = await link.hosts.one(name);
    const hosts = await link.hosts.all();
    const plans: WaitingPlan[] = [];
    for (const { id, planId, since } of await link.rows.open()) {
      const row = await link.rows.read(id);
      const plan = await session.store.plan(planId);
      if (row === undefined || plan === undefined) continue;
      const awaited = awaitedHosts(row.record, { me: link.host, hosts });
      if (awaited.some(({ host: each }) => each === name))
        plans.push({ planId, planName: plan.name, state: plan.state, since });
    }
    return { ...host, plans };
  }

  /** A drained host takes no new sandboxes. */
  async drain(name: string, isDrained: boolean): Promise<FleetHost> {
    const { hosts } = this.#parts.link;
    await hosts.one(name);
    await hosts.drain(name, isDrained);
    return await hosts.one(name);
  }

  /** Forgets a host that is gone for good. Refuses while plans wait for it. */
  async remove(name: string): Promise<void> {
    const { hosts } = this.#parts.link;
    const { isUp, plans } = await this.show(name);
    if (isUp)
      throw new UsageError(`The host ${name} is up.`, { hint: "End its service first.", code: "HOST_UP" });
    if (plans.length > 0)
      throw new BusyError(
        `Plans wait for the host ${name}: ${plans.map(({ planName }) => planName).join(", ")}.`,
        {
          holder: name,
          hint: "Give them up, or abandon them if this host never comes back, first.",
        },
      );
    await hosts.remove(name);
  }

  /** Starts a command on a host, inside the sandboxes that a plan has there. */
  async spawnOn(host: string, plan: string | undefined, request: HostCommandRequest): Promise<HostCommand> {
    const { session, link, spawn } = this.#parts;
    const { id } = await session.plans.find(plan);
    await link.hosts.one(host);
    return host === link.host ? await spawn(id, request) : new RemoteCommand(link, host, id, request);
  }

  /** The transactions over hosts that this host began and that have not ended, for the report of a recovery.
   */
  async pending(): Promise<RecoveryReport["pending"]> {
    const { link, session } = this.#parts;
    const hosts = await link.hosts.all();
    const pending: RecoveryReport["pending"][number][] = [];
    for (const { id, planId } of await link.rows.open()) {
      const row = await link.rows.read(id);
      const plan = await session.store.plan(planId);
      if (row === undefined || plan === undefined || plan.host !== undefined) continue;
      pending.push(pendingOf(plan, row.record, awaitedHosts(row.record, { me: link.host, hosts })));
    }
    return pending;
  }

  /** Settles a plan over hosts by the word of a person; undefined if it has nothing to settle over hosts. */
  async settle(key: string, how: "commit" | "abort"): Promise<RecoveryReport | undefined> {
    const { link, session, owners } = this.#parts;
    const plan = await session.plans.find(key);
    const [open] = await link.rows.open(plan.id);
    if (open === undefined) return undefined;
    const isGivenUp = open.phase === "landing" && how === "abort";
    if (isGivenUp) await link.rows.giveUp(open.id);
    else if (open.phase === "in-doubt" || open.phase === "preparing") {
      const { settleInDoubt } = await import("./host-service.ts");
      await settleInDoubt({ link, session, owners }, open, how, SETTLING_MS);
    }
    const record = await this.#ended(open.id);
    const work = {
      planId: plan.id,
      planName: plan.name,
      direction: record?.direction ?? "commit",
      attention: [],
    };
    if (record?.phase === "done" || record?.phase === "landed") return report({ finished: [work] });
    if (record === undefined || record.phase === "aborted") return report({ undone: [work] });
    const awaited = awaitedHosts(record, { me: link.host, hosts: await link.hosts.all() });
    return report({ pending: [pendingOf(plan, record, awaited)] });
  }

  /**
   * The transaction over hosts that holds a plan which a person abandons. What was not decided is given up
   * first, so that hosts which come back take back what they prepared.
   */
  async held(key: string): Promise<HeldTransaction | undefined> {
    const { rows } = this.#parts.link;
    const plan = await this.#parts.session.plans.find(key);
    const [open] = await rows.open(plan.id);
    if (open?.phase === "preparing") await rows.decide(open.id, "give-up");
    if (open === undefined) return undefined;
    const { id } = open;
    return {
      id,
      end: async (before, record, changes) => {
        const row = await rows.read(id);
        // Another process may have taken it over meanwhile, which changes nothing of its record.
        if (row === undefined || !isDeepStrictEqual(row.record, before)) return false;
        return (await rows.save(row, record, changes)).was === "saved";
      },
    };
  }

  /** Waits a while for the end of a transaction that the service of a host brings about. */
  async #ended(id: string) {
    const { rows, bell } = this.#parts.link;
    const until = performance.now() + SETTLING_MS;
    for (;;) {
      const row = await rows.read(id);
      const isOver = row === undefined || row.record.phase === "done" || row.record.phase === "aborted";
      if (isOver || performance.now() > until) return row?.record;
      await bell.next(bell.rings, 500);
    }
  }

  /** Serves this host until the signal. */
  async serve(serving: Serving, version: string): Promise<void> {
    const { link, session, owners, cleanup, registry, creation, spawn, keepHouse } = this.#parts;
    const { HostService } = await import("./host-service.ts");
    const services = {
      resources: async (requests: Parameters<PlanCreation["chosen"]>[0]) => {
        const { resources, passwords } = await (await creation()).chosen(requests);
        if (Object.keys(passwords).length === 0) return resources;
        throw new UsageError("A password does not travel to another host.", {
          hint: "Make the plan on the host that has the database, or let its server trust that host's user.",
          code: "PASSWORD_ELSEWHERE",
        });
      },
      capabilities: async (name: string, subject: object) =>
        (await registry.resolve(name, subject)).capabilities,
      spawn,
    };
    const service = new HostService({ link, session, services, cleanup, owners, keepHouse, version });
    await service.serve(serving);
  }
}

function pendingOf(
  { id, name }: PlanRecord,
  { phase, direction }: TransactionRecord,
  awaited: readonly AwaitedHost[],
): RecoveryReport["pending"][number] {
  const why = `${phase}: ${awaited.map(awaitedText).join("; ")}`;
  return { planId: id, planName: name, direction, attention: [], why, inDoubt: phase === "in-doubt" };
}

function report(part: Partial<RecoveryReport>): RecoveryReport {
  return { finished: [], undone: [], cleaned: [], pending: [], ...part };
}
