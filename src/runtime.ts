import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { AtomicCommit } from "./commit/atomic-commit.ts";
import { Cleaning } from "./commit/cleaning.ts";
import { Coordinator } from "./commit/coordinator.ts";
import { Journal } from "./commit/journal.ts";
import { type RecoveredPlan, Recovery, type RecoveryReport } from "./commit/recovery.ts";
import { UndoRetention } from "./commit/undo-retention.ts";
import { locateConfig } from "./config/find.ts";
import { DEFAULT_SETTINGS, type Settings } from "./config/settings.ts";
import { TrustStore } from "./config/trust.ts";
import { UnsupportedError, UsageError } from "./core/errors.ts";
import type { PlanRecord } from "./core/plan.ts";
import { ResourceTypes } from "./core/resource-types.ts";
import type { Progress, SandboxStrategy, StrategyContext } from "./core/strategy.ts";
import { BUILT_IN_STRATEGY_NAMES } from "./core/strategy-names.ts";
import { CheckpointService, saveBefore } from "./plans/checkpoint-service.ts";
import { StrategyChooser } from "./plans/choose-strategy.ts";
import { CleanupService } from "./plans/cleanup-service.ts";
import { describePlan } from "./plans/describe-plan.ts";
import { type DoctorReport, examine } from "./plans/doctor.ts";
import { findPlan } from "./plans/find-plan.ts";
import { sweepSecrets } from "./plans/forget-secrets.ts";
import { PlanCheckpoints } from "./plans/plan-checkpoints.ts";
import { planLog } from "./plans/plan-log.ts";
import { PlanRestores } from "./plans/plan-restores.ts";
import type { PlanLog } from "./plans/plan-views.ts";
import { Plans } from "./plans/plans.ts";
import { ResourceResolver } from "./plans/resources.ts";
import type { ExecRequest, ExecResult } from "./run/exec.ts";
import type { RunOutcome, RunRequest } from "./run/run-once.ts";
import { sweepRuns } from "./run/sweep.ts";
import { Claims } from "./sandboxes/claims.ts";
import { declareCustom, registerCustom } from "./sandboxes/declare-strategies.ts";
import { SandboxManager } from "./sandboxes/manager.ts";
import { PlanSandboxes } from "./sandboxes/plan-sandboxes.ts";
import { PlanSecrets } from "./sandboxes/plan-secrets.ts";
import { SandboxStrategyRegistry } from "./sandboxes/registry.ts";
import { RunFolders } from "./sandboxes/run-folders.ts";
import { Uses } from "./sandboxes/uses.ts";
import { openSqliteStore } from "./store/sqlite-store.ts";
import type { HistoryEntry, Store } from "./store/store.ts";
import { armFailpoints, passForeignFailpoint } from "./system/failpoints.ts";
import { currentActor, MachineOwners } from "./system/machine.ts";
import type { CheckRequest } from "./testing/check.ts";
import type { ConformanceReport } from "./testing/run-conformance.ts";

export interface DrydockOptions {
  /** Where Drydock keeps its state. Default: DRYDOCK_STATE_DIR, else $XDG_STATE_HOME/drydock, else ~/.local/state/drydock. */
  readonly stateDir?: string;
  /** A config file; one that is named is trusted. Default: DRYDOCK_CONFIG, else the nearest trusted drydock.yaml upward. */
  readonly config?: string;
  /** What relative paths are meant from. Default: the current folder. */
  readonly cwd?: string;
  readonly environment?: { readonly [name: string]: string | undefined };
  /** What this process is, for messages to others. Default: "drydock". */
  readonly command?: string;
  readonly onProgress?: (progress: Progress) => void;
  /** One line that the user should see: an ignored config, something that was recovered. */
  readonly onNotice?: (line: string) => void;
  /** Aborting it before the decision of a commit is a clean failure; after it, the commit finishes. */
  readonly signal?: AbortSignal;
  /** Strategies of your own, each made with the context it needs. */
  readonly strategies?: readonly ((context: StrategyContext) => SandboxStrategy)[];
  readonly now?: () => Date;
}

/** An open state directory, and everything that can be done with it. */
export interface Drydock {
  readonly stateDir: string;
  readonly plans: Plans;
  readonly checkpoints: CheckpointService;
  readonly cleanup: CleanupService;
  readonly sandboxes: SandboxManager;
  readonly registry: SandboxStrategyRegistry;
  /** The types of resource that are known: the built-in ones, and those of the config. */
  readonly resourceTypes: ResourceTypes;
  /** Runs a command inside the sandboxes of a plan, each in the place of its original. */
  exec(plan: string | undefined, request: ExecRequest): Promise<ExecResult>;
  /** Makes a plan for one command, runs it inside, and lands, keeps or throws away what it did. */
  run(request: RunRequest): Promise<RunOutcome>;
  /** What opening settled by itself of what dead processes had left. */
  readonly recovery: RecoveryReport;
  /** Settles what dead processes left. */
  recover(): Promise<RecoveryReport>;
  /** Settles by a person's word what is in doubt. */
  settle(plan: string, how: "commit" | "abort"): Promise<RecoveryReport>;
  /** Everything that happened to a plan, also to one that is over. */
  log(plan?: string): Promise<PlanLog>;
  /** What works on this machine. */
  doctor(): Promise<DoctorReport>;
  /** Runs the conformance suite on a strategy: by its name, or by `MODULE:CLASS`. */
  check(strategy: string, request?: CheckRequest): Promise<ConformanceReport>;
  /** Trusts a config with its present content. */
  trust(file: string): Promise<{ readonly file: string }>;
  close(): Promise<void>;
}

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
export async function openDrydock(options: DrydockOptions = {}): Promise<Drydock> {
  if (process.platform !== "linux")
    throw new UnsupportedError("Drydock works on Linux only.", {
      hint: "Use a Linux machine, container or virtual machine.",
    });
  const environment = options.environment ?? process.env;
  armFailpoints(environment["DRYDOCK_FAILPOINT"], environment["DRYDOCK_FAILPOINT_TRACE"]);
  const cwd = options.cwd ?? process.cwd();
  const now = options.now ?? (() => new Date());
  const stateDir = stateDirOf(options, environment, cwd);
  const store = await openSqliteStore({ stateDir });
  try {
    const trusted = new TrustStore({
      stateDir,
      user: { uid: process.geteuid?.() ?? 0, gid: process.getegid?.() ?? 0 },
      now,
    });
    const settings = await settingsFor(options, environment, cwd, trusted);
    const parts = assemble({ options, stateDir, store, settings, cwd, now, environment });
    const types = new ResourceTypes(settings.resourceTypes);
    const recovery = await parts.recovery.run();
    for (const left of await parts.sweep()) options.onNotice?.(`pending: ${left}`);
    for (const { plan, why } of await parts.undoRetention.run())
      options.onNotice?.(`pending: plan ${plan.name} (${plan.id}): ${why}`);
    if (options.onNotice !== undefined) announce(recovery, options.onNotice);
    return {
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
      recover: () => parts.recovery.run(),
      settle: async (plan, how) => await parts.recovery.settle(await findPlan(store, plan), how),
      log: (plan) => planLog(store, plan),
      doctor: () =>
        examine({ stateDir, registry: parts.registry, chooser: parts.chooser, types, checkRun: parts.checkRun }),
      check: async (strategy, request = {}) =>
        (await import("./testing/check.ts")).check(strategy, request, {
          custom: settings.sandbox.customStrategies,
          folder: cwd,
          environment,
          signal: options.signal ?? new AbortController().signal,
          progress: (progress) => options.onProgress?.(progress),
        }),
      trust: async (file) => ({ file: trusted.trust(resolve(cwd, file)).file }),
      close: async () => store.close(),
    };
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

async function settingsFor(
  options: DrydockOptions,
  environment: NonNullable<DrydockOptions["environment"]>,
  cwd: string,
  trusted: TrustStore,
): Promise<Settings> {
  const explicit = options.config ?? environment["DRYDOCK_CONFIG"];
  const located = locateConfig({ cwd, trusted, ...(explicit !== undefined && { explicit }) });
  if (located.kind === "ignored") options.onNotice?.(located.notice);
  if (located.kind !== "found") return DEFAULT_SETTINGS;
  const { loadConfig } = await import("./config/load.ts");
  return loadConfig({ file: located.file, text: located.text, environment });
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
  const cleaning = new Cleaning(store, sandboxes, settings.sandbox.cleanup);
  const coordinator = new Coordinator({
    journal,
    sandboxes,
    now,
    signal,
    clean: (record) => cleaning.after(record),
    history,
  });
  const commit = new AtomicCommit({ store, sandboxes, claims, journal, coordinator, now, assertUnused });
  const manager = new SandboxManager({ store, claims, sandboxes, committer: commit });
  const chooser = new StrategyChooser(registry, settings);
  const undoKeep = settings.sandbox.undo.keepMilliseconds;
  const undoRetention = new UndoRetention({
    ...{ store, claims, sandboxes, now, history },
    keepMilliseconds: undoKeep,
    policy: settings.sandbox.cleanup,
  });
  const cleansNothing = settings.sandbox.cleanup === "manual";
  /** What holds something outside of our folders, or needs a password to be removed, goes in any case. */
  const keepsCancelled = async (plan: PlanRecord) => {
    if (!cleansNothing || Object.keys(secrets.of(plan.id)).length > 0) return false;
    for (const { ref } of await store.sandboxesOf(plan.id)) if (await sandboxes.holdsTransaction(ref)) return false;
    return true;
  };
  const plans = new Plans({
    store,
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
    keepsCancelled,
    forgetRuns: (planId) => folders.remove(planId),
  });
  const keeping = { store, sandboxes, now, history, keep: settings.sandbox.checkpoint.keep };
  const planCheckpoints = new PlanCheckpoints(keeping);
  const restores = new PlanRestores(keeping, planCheckpoints);
  const checkpoints = new CheckpointService({ store, claims, checkpoints: planCheckpoints, restores });
  const settleCheckpoints = (plan: PlanRecord) => restores.settle(plan);
  const recovery = new Recovery({ store, claims, sandboxes, commit, history, settleCheckpoints });
  const cleanup = new CleanupService({ store, claims, sandboxes, folders, uses, undoRetention, stateDir, now });
  const savesBeforeExec = settings.sandbox.checkpoint.autoCreateOn.includes("exec");
  const saveBeforeExec = async (plan: PlanRecord, command: string) => {
    if (savesBeforeExec) await saveBefore(planCheckpoints, plan, command);
  };
  /** Only who runs a command pays for loading what that takes. */
  const runs = async () => {
    const { Runs } = await import("./run/runs.ts");
    const parts = { store, claims, sandboxes, uses, folders, stateDir, cwd, environment, history };
    return new Runs({ ...parts, saveBefore: saveBeforeExec });
  };
  const checkRun = async () => (await import("./run/check.ts")).checkRun(folders, uses, stateDir, environment);
  const sweep = async () => {
    const left = await sweepRuns({ folders, uses, store, claims, sandboxes });
    await sweepSecrets(store, secrets);
    return left;
  };
  const services = { plans, checkpoints, cleanup, undoRetention, recovery };
  return { registry, manager, commit, chooser, ...services, runs, checkRun, sweep };
}

/** Half of the program is strategies: a command that needs none, such as a list of plans, does not load them. */
function declareBuiltIn(registry: SandboxStrategyRegistry, context: StrategyContext): void {
  for (const name of BUILT_IN_STRATEGY_NAMES) {
    const load = async () => {
      const { BUILT_IN_STRATEGIES } = await import("./strategies/built-in-strategies.ts");
      return { strategy: new BUILT_IN_STRATEGIES[name](context) };
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
