import { resolve } from "node:path";
import { AtomicCommit } from "./commit/atomic-commit.ts";
import { ClosedPlans } from "./commit/cleanup/closed-plans.ts";
import { LandedCleanup } from "./commit/cleanup/landed-cleanup.ts";
import { PlanClosing } from "./commit/cleanup/plan-closing.ts";
import { UndoRetention } from "./commit/cleanup/undo-retention.ts";
import { Coordinator } from "./commit/coordinator.ts";
import { Recovery } from "./commit/recovery.ts";
import { userConfigPath } from "./config/policy/user-config-path.ts";
import { UnsupportedError } from "./core/errors/errors.ts";
import { ResourceTypes } from "./core/resource/resource-types.ts";
import type { StrategyContext } from "./core/strategy.ts";
import type { Notice } from "./core/values/notice.ts";
import { loadedLate } from "./engine/work/lazy-value.ts";
import { keepHouse } from "./housekeeping.ts";
import { type OpenedState, openState, type Surroundings } from "./open-state.ts";
import { Plans } from "./plans/plans.ts";
import type { PlanChecks } from "./plans/review/plan-inspection.ts";
import type { Located } from "./run/exec.ts";
import type { ExplainRequest } from "./run/policy/explain.ts";
import { Claims } from "./sandboxes/access/claims.ts";
import { Operations } from "./sandboxes/access/operations.ts";
import { PlanAccess } from "./sandboxes/access/plan-access.ts";
import { PlanHistory } from "./sandboxes/access/plan-history.ts";
import type { PlanSession } from "./sandboxes/access/plan-session.ts";
import type { Session } from "./sandboxes/access/session.ts";
import { PlanSandboxes } from "./sandboxes/plan-sandboxes.ts";
import { PlanRemains } from "./sandboxes/remains/plan-remains.ts";
import { PlanSecrets } from "./sandboxes/remains/plan-secrets.ts";
import { RestoredRemains } from "./sandboxes/remains/restored-remains.ts";
import { RunFolders } from "./sandboxes/remains/run-folders.ts";
import { Uses } from "./sandboxes/remains/uses.ts";
import { SandboxReports } from "./sandboxes/sandbox-reports.ts";
import type { Services, ServicesOptions } from "./services.ts";
import { declareBuiltIn } from "./strategies/built-in-strategies.ts";
import { type CustomParts, declareCustom, registerCustom } from "./strategies/custom/declare-strategies.ts";
import { SandboxStrategyRegistry } from "./strategies/registry.ts";
import { isThere } from "./system/data/existence.ts";
import { armFailpoints, passForeignFailpoint } from "./system/failpoints.ts";
import { currentActor, MachineOwners } from "./system/state/machine.ts";
import { withReserve } from "./system/state/reserve.ts";

/**
 * Opens a state directory: the one place that knows every concrete class and puts them together. Before it
 * returns, it ends what a crash left unfinished (housekeeping.ts).
 */
export async function openServices(options: ServicesOptions = {}): Promise<Services> {
  if (process.platform !== "linux")
    throw new UnsupportedError("Drydock works on Linux only.", {
      hint: "Use a Linux machine, container or virtual machine.",
    });
  const environment = options.environment ?? process.env;
  armFailpoints(environment["DRYDOCK_FAILPOINT"], environment["DRYDOCK_FAILPOINT_TRACE"]);
  const cwd = options.cwd ?? process.cwd();
  const now = options.now ?? (() => new Date());
  const closed = new AbortController();
  const opened = await openState(options, { cwd, now, environment });
  const { stateDir, store, trusted } = opened;
  try {
    const parts = await assemble({ ...opened, options, cwd, now, environment });
    const recovery = await keepHouse(parts.housekeeping, (notice) => options.onNotice?.(notice));
    return {
      stateDir,
      operations: parts.session.operations,
      plans: parts.plans,
      entries: parts.entries,
      checkpoints: parts.checkpoints,
      reviews: async () =>
        new (await import("./plans/review/plan-reviews.ts")).PlanReviews(parts.session, parts.plans),
      updates: parts.updates,
      scratch: parts.scratch,
      cleanup: parts.cleanup,
      sandboxes: parts.manager,
      registry: parts.registry,
      register: parts.register,
      resourceTypes: parts.types,
      exec: async (plan, request) => (await parts.runs()).exec(plan, request),
      capture: async (plan, request) =>
        (await import("./run/capture.ts")).capture(await parts.runs(), plan, request),
      spawn: async (plan, request, how) =>
        (await import("./run/spawn.ts")).spawn(await parts.runs(), plan, request, how),
      detached: parts.detached,
      run: async (request, how) =>
        (await import("./run/run-once.ts")).runOnce(parts.plans, await parts.runs(), request, how),
      explain: async (request) => {
        const resources = await (await parts.creation()).resources(request.resources);
        return await parts.explain({ resources }, request);
      },
      explainExec: async (plan, request) =>
        await parts.explain(await parts.session.plans.find(plan), request),
      recovery,
      recover: async () => {
        const report = await withReserve(stateDir, () => parts.recovery.run());
        return { ...report, pending: [...report.pending, ...((await parts.fleet?.pending()) ?? [])] };
      },
      settle: async (plan, how) =>
        await withReserve(
          stateDir,
          async () => (await parts.fleet?.settle(plan, how)) ?? (await parts.recovery.settle(plan, how)),
        ),
      abandon: async (plan) => {
        const { Abandonment } = await import("./commit/cleanup/abandonment.ts");
        const held = await parts.fleet?.held(plan);
        return await withReserve(stateDir, () => new Abandonment(parts.session, held).abandon(plan));
      },
      log: async (plan) => (await import("./plans/history/plan-log.ts")).planLog(parts.session, plan),
      events: async (wanted = {}) =>
        (await import("./plans/history/plan-events.ts")).planEvents(parts.session, wanted, closed.signal),
      doctor: async () =>
        (await import("./plans/doctor.ts")).examine({ stateDir, ...parts, chooser: await parts.chooser() }),
      check: async (strategy, request = {}) =>
        (await import("./testing/check.ts")).check(strategy, request, {
          registry: parts.registry,
          folder: cwd,
          environment,
          signal: parts.session.operations.signal,
          progress: (progress) => parts.session.operations.progress(progress),
        }),
      trust: async (file) => {
        const { trustConfig } = await import("./config/settings-in-force.ts");
        return await trustConfig(resolve(cwd, file), { trusted: await trusted(), environment });
      },
      ...(parts.fleet !== undefined && { fleet: parts.fleet }),
      close: async () => {
        // A reason of ours costs nothing; Node's would be an error with a trace.
        closed.abort("closed");
        parts.owners.close();
        store.close();
      },
    };
  } catch (thrown) {
    store.close();
    throw thrown;
  }
}

interface Foundations extends OpenedState, Surroundings {
  readonly options: ServicesOptions;
}

async function assemble(foundations: Foundations) {
  const { options, stateDir, store, settings, cwd, now, environment, fleet } = foundations;
  const operations = new Operations(options.signal ?? new AbortController().signal, (progress) =>
    options.onProgress?.(progress),
  );
  const owners = new MachineOwners(stateDir, options.command ?? "drydock", fleet?.host);
  const base: Session = {
    ...{ stateDir, store, now, operations },
    plans: new PlanAccess(store, new Claims(store, owners, operations), operations),
    history: new PlanHistory(store, now, `${currentActor()}${options.inside === true ? " (inside)" : ""}`),
  };
  const joined = fleet && new (await import("./fleet/host/joined-fleet.ts")).JoinedFleet(fleet, operations);
  const registry = new SandboxStrategyRegistry(
    (resourceId, call) => operations.about(resourceId, call),
    joined?.elsewhere,
  );
  const folders = new RunFolders(stateDir);
  const uses = new Uses(folders, owners);
  const sandboxes = new PlanSandboxes(base, registry, uses);
  const reports = new SandboxReports(store, now, () => owners.self());
  const secrets = new PlanSecrets(stateDir);
  const restored = new RestoredRemains(store, stateDir);
  const remains = new PlanRemains(store, folders, secrets, restored);
  const userConfig = userConfigPath(environment);
  const ownPolicy = async (file: string) => {
    const { userPolicy } = await import("./config/policy/user-config.ts");
    return userPolicy(file, environment, { uid: process.geteuid?.() ?? 0, gid: process.getegid?.() ?? 0 });
  };
  const policyLayers = async () => [
    ...(userConfig === undefined || !isThere(userConfig) ? [] : await ownPolicy(userConfig)),
    ...settings.run,
  ];
  const protects = async () => (await policyLayers()).flatMap(({ protect }) => protect ?? []);
  const session: PlanSession = {
    ...{ ...base, settings: settings.sandbox, protects, sandboxes, remains },
    ...(joined !== undefined && { waits: (plan) => joined.waits(plan) }),
  };
  const context: StrategyContext = {
    stateDir,
    policy: { allowSetid: settings.sandbox.allowSetid, allowDevices: settings.sandbox.allowDevices },
    git: settings.sandbox.git,
    merge: settings.sandbox.merge,
    transaction: settings.sandbox.transaction,
    secretsOf: (planId) => secrets.of(planId),
    recordLoss: (ref, why) => reports.recordLoss(ref, why),
    environment,
    recordIntent: (ref, places) => reports.recordIntent(ref, places),
    standsStill: (planId) => sandboxes.hold.isHeld(planId),
    failpoint: passForeignFailpoint,
    now,
    progress: (progress) => operations.progress(progress),
    get signal() {
      return operations.signal;
    },
  };
  declareBuiltIn(registry, context);
  const custom: CustomParts = {
    ...{ registry, context },
    recordLoss: (ref, why, strategy) => reports.recordLoss(ref, why, strategy),
  };
  const register: Services["register"] = (make) => registerCustom(custom, make);
  for (const make of options.strategies ?? []) register(make);
  for (const declared of settings.sandbox.customStrategies) declareCustom(custom, declared);

  const landedCleanup = new LandedCleanup(session);
  const coordinator =
    joined?.coordinator(session, landedCleanup, owners) ?? new Coordinator(session, landedCleanup);
  const commit = new AtomicCommit(session, coordinator);
  const closing = new PlanClosing(session);
  const undoRetention = new UndoRetention(session);
  const types = new ResourceTypes(settings.resourceTypes);
  // What follows as a function is loaded when it is used: most commands need little of it.
  const descriptions = async () => new (await import("./plans/describe-plan.ts")).PlanDescriptions(session);
  const chooser = async () => {
    const { StrategyChooser } = await import("./plans/resources/choose-strategy.ts");
    return new StrategyChooser(registry, settings, types);
  };
  const resolving = async () => {
    const { ResourceResolver } = await import("./plans/resources/resources.ts");
    const resolver = new ResourceResolver(settings, types, cwd, stateDir, fleet?.host);
    return {
      session,
      resolver,
      secrets,
      otherHosts: joined?.elsewhere,
      descriptions: await descriptions(),
      chooser: await chooser(),
    };
  };
  const creation = async () => {
    const { PlanCreation } = await import("./plans/plan-creation.ts");
    return new PlanCreation({ ...(await resolving()), closing });
  };
  const joining = async () => {
    const { PlanJoining } = await import("./plans/making/plan-joining.ts");
    return new PlanJoining({ ...(await resolving()), folders });
  };
  const planCheckpoints = async () =>
    new (await import("./plans/checkpoints/plan-checkpoints.ts")).PlanCheckpoints(session);
  const restores = async () => {
    const { PlanRestores } = await import("./plans/checkpoints/plan-restores.ts");
    return new PlanRestores(session, await planCheckpoints());
  };
  const recovery = new Recovery({ session, commit, closing, checkpoints: loadedLate(restores, ["resume"]) });
  const entries = async () => new (await import("./plans/entries/plan-entries.ts")).PlanEntries(session);
  const manager = async () =>
    new (await import("./plans/sandbox-manager.ts")).SandboxManager(session, commit);
  const checkpoints = async () => {
    const { CheckpointService } = await import("./plans/checkpoints/checkpoint-service.ts");
    return new CheckpointService(session, await planCheckpoints(), await restores());
  };
  const savedSteps = async () => {
    const { SavedSteps } = await import("./plans/updates/saved-steps.ts");
    return new SavedSteps(session, await planCheckpoints(), await restores());
  };
  const updates = async () => {
    const { PlanUpdates } = await import("./plans/updates/plan-updates.ts");
    return new PlanUpdates(session, await planCheckpoints(), await savedSteps());
  };
  const partRollbacks = async () => {
    const { PartRollbacks } = await import("./plans/updates/part-rollbacks.ts");
    return new PartRollbacks(session, await savedSteps());
  };
  const cleanup = async () => {
    const { CleanupService } = await import("./plans/cleanup/cleanup-service.ts");
    return new CleanupService({ session, folders, uses, undoRetention, restored, owners });
  };
  const scratch = async () => {
    const { PlanScratch } = await import("./plans/scratch/plan-scratch.ts");
    return new PlanScratch({ session, folders, environment });
  };
  const policies = async () => {
    const { CommandPolicies } = await import("./run/policy/command-policies.ts");
    const layers = await policyLayers();
    return new CommandPolicies({ layers, environment, stateDir: session.stateDir, userConfig });
  };
  const explain = async (plan: Located, request: ExplainRequest) => {
    const { explain } = await import("./run/policy/explain.ts");
    const facts = { environment, limits: settings.sandbox.limits };
    return explain(await policies(), facts, plan, request);
  };
  const runs = async () => {
    const { Runs } = await import("./run/runs.ts");
    const { saveBefore } = loadedLate(planCheckpoints, ["saveBefore"]);
    const notice = (notice: Notice) => options.onNotice?.(notice);
    const config = options.config === undefined ? {} : { config: options.config };
    const parts = { session, sandboxes, uses, folders, cwd, environment, ...config };
    const { limits, keepOutput } = settings.sandbox;
    return new Runs({ ...parts, saveBefore, limits, keepOutput, policies: await policies(), notice });
  };
  const checks: PlanChecks = {
    configured: settings.checks,
    run: async (plan, wanted, digest) => {
      const { runChecks } = await import("./run/run-checks.ts");
      const { checkpointBefore } = await import("./plans/checkpoints/checkpoint-before.ts");
      const states = { session, checkpoints: await planCheckpoints(), restores: await restores() };
      const save = async () => await checkpointBefore(states, plan, "the checks");
      return await runChecks({ session, runs: await runs(), digest, save }, plan, wanted);
    },
  };
  const services = {
    plans: new Plans({
      session,
      creation,
      joining,
      updates,
      partRollbacks,
      commit,
      closing,
      descriptions,
      checks,
    }),
    entries: {
      ...loadedLate(entries, ["stat", "list", "write", "makeFolder", "remove", "rename"]),
      read: async function* (...given) {
        yield* (await entries()).read(...given);
      },
    } satisfies Services["entries"],
    checkpoints: loadedLate(checkpoints, ["checkpoint", "list", "restore"]),
    updates: loadedLate(updates, ["update", "resolve"]),
    scratch: {
      ...loadedLate(scratch, ["list"]),
      patch: async function* (...given) {
        yield* (await scratch()).patch(...given);
      },
    } satisfies Services["scratch"],
    cleanup: loadedLate(cleanup, ["scan", "purge", "status", "idlePlans", "places"]),
    manager: loadedLate(manager, [
      "getOrCreate",
      "commitAll",
      "rollbackAll",
      "cleanupAll",
      "cleanupAbandoned",
    ]),
    recovery,
    housekeeping: { session, uses, folders, recovery, undoRetention, closedPlans: new ClosedPlans(session) },
  };

  const detached = async () => {
    const { DetachedCommands } = await import("./run/detached/detached-commands.ts");
    const config = options.config === undefined ? {} : { config: options.config };
    const notice = (notice: Notice) => options.onNotice?.(notice);
    const place = { stateDir, cwd, environment, ...config };
    return new DetachedCommands({ session, place, plans: services.plans, notice });
  };
  const fleetServices = joined?.services({
    ...{ session, owners, registry, creation, cleanup: landedCleanup },
    spawn: async (plan, request) => await (await import("./run/spawn.ts")).spawn(await runs(), plan, request),
    keepHouse: async () => {
      await keepHouse(services.housekeeping, (notice) => options.onNotice?.(notice));
    },
  });
  const checkRun = async () =>
    (await import("./run/check.ts")).checkRun(folders, uses, stateDir, environment);
  return {
    ...{ session, registry, register, types, chooser, creation, ...services, runs, explain, checkRun },
    ...{ owners, fleet: fleetServices },
    detached: loadedLate(detached, [
      ...(["start", "running", "last", "show", "output", "write"] as const),
      ...(["resize", "ended", "end", "cancel", "noteRunEnd"] as const),
    ]),
  };
}
