import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { Abandonment } from "./commit/abandonment.ts";
import { AtomicCommit } from "./commit/atomic-commit.ts";
import { Cleaning } from "./commit/cleaning.ts";
import { Coordinator } from "./commit/coordinator.ts";
import { Journal } from "./commit/journal.ts";
import { PlanClosing } from "./commit/plan-closing.ts";
import { type RecoveredPlan, Recovery, type RecoveryReport } from "./commit/recovery.ts";
import { UndoRetention } from "./commit/undo-retention.ts";
import type { Settings } from "./config/settings.ts";
import { settingsInForce, trustConfig } from "./config/settings-in-force.ts";
import { TrustStore } from "./config/trust.ts";
import { UnsupportedError, UsageError } from "./core/errors.ts";
import type { PlanRecord } from "./core/plan.ts";
import { ResourceTypes } from "./core/resource-types.ts";
import type { StrategyContext } from "./core/strategy.ts";
import { BUILT_IN_STRATEGY_NAMES } from "./core/strategy-names.ts";
import type { Drydock, DrydockOptions } from "./drydock.ts";
import { CheckpointService, saveBefore } from "./plans/checkpoint-service.ts";
import { StrategyChooser } from "./plans/choose-strategy.ts";
import { CleanupService } from "./plans/cleanup-service.ts";
import { describePlan } from "./plans/describe-plan.ts";
import { examine } from "./plans/doctor.ts";
import { findPlan } from "./plans/find-plan.ts";
import { PlanCheckpoints } from "./plans/plan-checkpoints.ts";
import { planLog } from "./plans/plan-log.ts";
import { PlanRestores } from "./plans/plan-restores.ts";
import { Plans } from "./plans/plans.ts";
import { ResourceResolver } from "./plans/resources.ts";
import { drydockOptions, withCheckedBorder } from "./public-arguments.ts";
import { sweepRuns } from "./run/sweep.ts";
import { Claims } from "./sandboxes/claims.ts";
import { declareCustom, registerCustom } from "./sandboxes/declare-strategies.ts";
import { SandboxManager } from "./sandboxes/manager.ts";
import { PlanRemains } from "./sandboxes/plan-remains.ts";
import { PlanSandboxes } from "./sandboxes/plan-sandboxes.ts";
import { PlanSecrets } from "./sandboxes/plan-secrets.ts";
import { SandboxStrategyRegistry } from "./sandboxes/registry.ts";
import { RestoredRemains } from "./sandboxes/restored-remains.ts";
import { RunFolders } from "./sandboxes/run-folders.ts";
import { Uses } from "./sandboxes/uses.ts";
import { openSqliteStore } from "./store/sqlite-store.ts";
import type { HistoryEntry, Store } from "./store/store.ts";
import { armFailpoints, passForeignFailpoint } from "./system/failpoints.ts";
import { currentActor, MachineOwners } from "./system/machine.ts";
import { freeReserve } from "./system/reserve.ts";

export type { Drydock, DrydockOptions } from "./drydock.ts";

/**
 * Opens Drydock: the one place that knows every concrete class and puts them together. What a crash left is settled before it returns.
 *
 * @example
 * ```ts
 * const drydock = await openDrydock({ stateDir });
 * const plan = await drydock.plans.create({ resources: [{ location: folder }] });
 * await drydock.plans.write(plan.id, plan.resources[0].name, "notes.txt", Buffer.from("hello"));
 * await drydock.plans.apply(plan.id, { message: "add notes" });
 * await drydock.close();
 * ```
 */
export async function openDrydock(given?: DrydockOptions): Promise<Drydock> {
  const options = drydockOptions(given, process.env);
  if (process.platform !== "linux")
    throw new UnsupportedError("Drydock works on Linux only.", {
      hint: "Use a Linux machine, container or virtual machine.",
    });
  const environment = options.environment ?? process.env;
  armFailpoints(environment["DRYDOCK_FAILPOINT"], environment["DRYDOCK_FAILPOINT_TRACE"]);
  const cwd = options.cwd ?? process.cwd();
  const now = options.now ?? (() => new Date());
  const stateDir = stateDirOf(options, environment, cwd);
  const store = await openSqliteStore({ stateDir, makesRoom: options.makesRoom === true });
  try {
    const trusted = new TrustStore({
      stateDir,
      user: { uid: process.geteuid?.() ?? 0, gid: process.getegid?.() ?? 0 },
      now,
    });
    const explicit = options.config ?? environment["DRYDOCK_CONFIG"];
    const settings = await settingsInForce({
      ...{ cwd, trusted, environment },
      ...(explicit !== undefined && { explicit }),
      notice: (line) => options.onNotice?.(line),
    });
    const parts = assemble({ options, stateDir, store, settings, cwd, now, environment });
    const types = new ResourceTypes(settings.resourceTypes);
    const recovery = await parts.recovery.run();
    for (const left of await parts.sweep()) options.onNotice?.(`pending: ${left}`);
    for (const { planId, why } of await parts.undoRetention.run())
      options.onNotice?.(`pending: plan ${planId}: ${why}`);
    if (options.onNotice !== undefined) announce(recovery, options.onNotice);
    return withCheckedBorder({
      stateDir,
      plans: parts.plans,
      checkpoints: parts.checkpoints,
      cleanup: parts.cleanup,
      sandboxes: parts.manager,
      registry: parts.registry,
      resourceTypes: types,
      exec: async (plan, request) => (await parts.runs()).exec(plan, request),
      run: async (request) => (await import("./run/run-once.ts")).runOnce(parts.plans, await parts.runs(), request),
      recovery,
      recover: async () => await parts.recovery.run(),
      settle: async (plan, how) => await parts.recovery.settle(await findPlan(store, plan), how),
      abandon: async (plan) => await parts.abandonment.abandon(await findPlan(store, plan)),
      log: async (plan) => await planLog(store, plan),
      doctor: async () =>
        await examine({ stateDir, registry: parts.registry, chooser: parts.chooser, types, checkRun: parts.checkRun }),
      check: async (strategy, request = {}) =>
        (await import("./testing/check.ts")).check(strategy, request, {
          custom: settings.sandbox.customStrategies,
          folder: cwd,
          environment,
          signal: options.signal ?? new AbortController().signal,
          progress: (progress) => options.onProgress?.(progress),
        }),
      trust: (file) => trustConfig(resolve(cwd, file), { trusted, environment }),
      close: async () => store.close(),
    });
  } catch (thrown) {
    store.close();
    throw thrown;
  }
}

function stateDirOf(
  options: DrydockOptions,
  environment: NonNullable<DrydockOptions["environment"]>,
  cwd: string,
): string {
  const given = options.stateDir ?? environment["DRYDOCK_STATE_DIR"];
  if (given === "")
    throw new UsageError("The state directory is empty.", {
      hint: "Give --state-dir or DRYDOCK_STATE_DIR a path, or leave it out.",
    });
  if (given !== undefined) return resolve(cwd, given);
  // The standard says that a relative one is to be ignored. Sandboxes are found by their path, from whatever folder the next command is called.
  const { XDG_STATE_HOME: named = "", HOME: home } = environment;
  const states = isAbsolute(named) ? named : join(home || homedir(), ".local", "state");
  return resolve(cwd, states, "drydock");
}

interface Foundations {
  readonly options: DrydockOptions;
  readonly stateDir: string;
  readonly store: Store;
  readonly settings: Settings;
  readonly cwd: string;
  readonly now: () => Date;
  readonly environment: NonNullable<DrydockOptions["environment"]>;
}

function assemble({ options, stateDir, store, settings, cwd, now, environment }: Foundations) {
  const signal = options.signal ?? new AbortController().signal;
  const owners = new MachineOwners(stateDir, options.command ?? "drydock");
  const claims = new Claims(store, owners, signal);
  const registry = new SandboxStrategyRegistry();
  const actor = currentActor();
  const history = (planId: string, event: string, details: HistoryEntry["details"]): HistoryEntry => ({
    planId,
    at: now().toISOString(),
    actor,
    pid: process.pid,
    event,
    details,
  });
  const folders = new RunFolders(stateDir);
  const uses = new Uses(folders, owners);
  const assertUnused = (plan: PlanRecord) => uses.assertNone(plan);
  const sandboxes = new PlanSandboxes(store, registry, now, assertUnused);
  const secrets = new PlanSecrets(stateDir);
  const context: StrategyContext = {
    stateDir,
    policy: { allowSetid: settings.sandbox.allowSetid, allowDevices: settings.sandbox.allowDevices },
    git: settings.sandbox.git,
    transaction: settings.sandbox.transaction,
    secretsOf: (planId) => secrets.of(planId),
    recordLoss: (ref, why) => sandboxes.recordLoss(ref, why),
    environment,
    recordIntent: (ref, places) => sandboxes.recordIntent(ref, places, owners.self()),
    failpoint: passForeignFailpoint,
    now,
    progress: (progress) => options.onProgress?.(progress),
    signal,
  };
  declareBuiltIn(registry, context);
  const custom = { registry, sandboxes, context };
  for (const make of options.strategies ?? []) registerCustom(custom, make);
  for (const declared of settings.sandbox.customStrategies) declareCustom(custom, declared);
  const journal = new Journal(store);
  const { cleanup: policy } = settings.sandbox;
  const restored = new RestoredRemains(store, stateDir);
  const remains = new PlanRemains(store, folders, secrets, restored);
  const cleaning = new Cleaning(store, sandboxes, remains, policy);
  const coordinator = new Coordinator({
    journal,
    sandboxes,
    now,
    signal,
    clean: (record) => cleaning.after(record),
    history,
  });
  const commit = new AtomicCommit({
    ...{ store, sandboxes, claims, journal, coordinator, now, assertUnused },
    allow: settings.sandbox.allowSelfRunning,
  });
  const manager = new SandboxManager({ store, claims, sandboxes, committer: commit });
  const chooser = new StrategyChooser(registry, settings);
  const undoKeep = settings.sandbox.undo.keepMilliseconds;
  const undoRetention = new UndoRetention({
    ...{ store, claims, sandboxes, now, history },
    keepMilliseconds: undoKeep,
    ...{ policy, remains },
  });
  const hasSecrets = (planId: string) => Object.keys(secrets.of(planId)).length > 0;
  const closing = new PlanClosing({ store, sandboxes, remains, policy, hasSecrets, history });
  const makeRoom = () => freeReserve(stateDir);
  const plans = new Plans({
    store,
    makeRoom,
    sandboxes,
    manager,
    claims,
    commit,
    resolver: new ResourceResolver(settings, cwd, stateDir),
    chooser,
    now,
    describe: (plan, how) => describePlan(store, plan, (ref) => sandboxes.notes(ref, how), undoKeep),
    history,
    secrets,
    closing,
    allow: settings.sandbox.allowSelfRunning,
  });
  const keeping = { store, sandboxes, now, history, keep: settings.sandbox.checkpoint.keep };
  const planCheckpoints = new PlanCheckpoints(keeping);
  const restores = new PlanRestores(keeping, planCheckpoints);
  const checkpoints = new CheckpointService({ store, claims, checkpoints: planCheckpoints, restores });
  const settleCheckpoints = (plan: PlanRecord) => restores.settle(plan);
  const recovery = new Recovery({ store, claims, sandboxes, commit, closing, history, settleCheckpoints });
  const abandonment = new Abandonment({ store, claims, sandboxes, remains, now, history, assertUnused });
  const cleanup = new CleanupService({
    ...{ store, claims, sandboxes, folders, uses, undoRetention, stateDir, now },
    ...{ restored, owners, makeRoom },
  });
  const savesBeforeExec = settings.sandbox.checkpoint.autoCreateOn.includes("exec");
  const saveBeforeExec = async (plan: PlanRecord, command: string) => {
    if (savesBeforeExec) await saveBefore(planCheckpoints, plan, command);
  };
  /** Only who runs a command pays for loading what that takes. */
  const runs = async () => {
    const { Runs } = await import("./run/runs.ts");
    const parts = { store, claims, sandboxes, uses, folders, stateDir, cwd, environment, history };
    const notice = (line: string) => options.onNotice?.(line);
    return new Runs({ ...parts, saveBefore: saveBeforeExec, limits: settings.sandbox.limits, notice });
  };
  const checkRun = async () => (await import("./run/check.ts")).checkRun(folders, uses, stateDir, environment);
  const sweep = () => sweepRuns({ uses, store, claims, sandboxes, remains });
  const services = { plans, checkpoints, cleanup, undoRetention, recovery, abandonment };
  return { registry, manager, commit, chooser, ...services, runs, checkRun, sweep };
}

/** Half of the program is strategies: a command that needs none, such as a list of plans, does not load them. */
function declareBuiltIn(registry: SandboxStrategyRegistry, context: StrategyContext): void {
  for (const name of BUILT_IN_STRATEGY_NAMES) {
    const load = async () => {
      const { BUILT_IN_STRATEGIES } = await import("./strategies/built-in-strategies.ts");
      const Strategy = await BUILT_IN_STRATEGIES[name]();
      return { strategy: new Strategy(context) };
    };
    registry.declare({ name, load });
  }
}

function announce({ finished, undone, cleaned, pending }: RecoveryReport, notice: (line: string) => void): void {
  const workOf = (direction: RecoveredPlan["direction"]) => (direction === "commit" ? "apply" : direction);
  for (const { planName, planId, direction } of finished)
    notice(`recovered: the ${workOf(direction)} of plan ${planName} (${planId}) is finished`);
  for (const { planName, planId, direction } of undone)
    notice(
      `recovered: the ${workOf(direction)} of plan ${planName} (${planId}) ${direction === "restore" ? "could not be finished" : "had not been decided"} and is taken back`,
    );
  for (const { planId, what } of cleaned) notice(`recovered: removed ${what} (${planId})`);
  for (const { planName, planId, why } of pending) notice(`pending: plan ${planName} (${planId}): ${why}`);
}
