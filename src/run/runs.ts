import { InterruptedError } from "../core/errors/errors.ts";
import { boundariesOf, type PlanRecord } from "../core/plan.ts";
import type { Limits } from "../core/values/limits.ts";
import type { Notice } from "../core/values/notice.ts";
import type { Session } from "../sandboxes/access/session.ts";
import type { PlanSandboxes } from "../sandboxes/plan-sandboxes.ts";
import type { RunFolders } from "../sandboxes/remains/run-folders.ts";
import type { OwnUse, Use, Uses } from "../sandboxes/remains/uses.ts";
import { homeOf } from "../sandboxes/scratch/caches.ts";
import { filesOutside } from "../sandboxes/scratch/outside-files.ts";
import { type OutsideSummary, summaryOf } from "../sandboxes/scratch/outside-places.ts";
import type { Folder } from "../system/calls/folder.ts";
import { isThere } from "../system/data/existence.ts";
import { factsOfPath, realPathOf } from "../system/data/locations.ts";
import { milliseconds } from "../system/milliseconds.ts";
import { LockedCaches } from "./caches/locked-caches.ts";
import type { ChannelPlace } from "./channel/channel-place.ts";
import { CommandChannel } from "./channel/command-channel.ts";
import { type Entered, movedResources, variablesOf, writablePaths } from "./entered.ts";
import { commandEnvironment } from "./environment.ts";
import {
  assertCommand,
  assertNotAborted,
  assertOneDetached,
  assertUsable,
  commandText,
  type ExecRequest,
  type ExecResult,
  pathsOf,
  type StartedCommand,
  type StartRequest,
  signalOf,
  startFolder,
} from "./exec.ts";
import { commandSpec } from "./launch/command-spec.ts";
import {
  CommandLauncher,
  isWithoutNamespaces,
  killIfItFails,
  type RunningCommandProcess,
  weakerSentences,
} from "./launch/launcher.ts";
import { CommandAbort } from "./limits/command-abort.ts";
import { CommandLimits, metBeforeEnd } from "./limits/command-limits.ts";
import { scratchUse } from "./limits/scratch-use.ts";
import { CommandNetwork } from "./network/command-network.ts";
import { type CommandPolicies, type CommandPolicy, refusedSentence } from "./policy/command-policies.ts";
import { foreignWorkspaces } from "./view/foreign-workspaces.ts";
import { joinedView, lostSentence, newView, removeOwnFolder } from "./view/new-view.ts";
import { isInSandbox, viewToJoin } from "./view/shared-view.ts";
import { distinctlyShown, pathInside, shownByLink, shownSandbox } from "./view/shown-sandbox.ts";
import { isWorthAnother } from "./view/view-attempts.ts";
import type { Confinement } from "./walls/without-namespaces.ts";
import { afterCommand, beforeCommand } from "./write-back/around-command.ts";

export interface RunsParts {
  readonly session: Session;
  readonly sandboxes: PlanSandboxes;
  readonly uses: Uses;
  readonly folders: RunFolders;
  readonly cwd: string;
  readonly environment: { readonly [name: string]: string | undefined };
  /** The config that the user named, if there is one. */
  readonly config?: string;
  /** Saves a plan before a command runs in it. */
  readonly saveBefore: (plan: PlanRecord, command: string) => Promise<void>;
  /** Default limits of every command. */
  readonly limits: Limits;
  /** Whether the history keeps what commands write. */
  readonly keepOutput: boolean;
  readonly policies: CommandPolicies;
  readonly notice: (notice: Notice) => void;
}

interface Attempt {
  readonly launcher: CommandLauncher;
  /** How to confine the command, once namespaces were refused. */
  confinement?: Confinement;
  readonly limits: CommandLimits;
  readonly network: CommandNetwork;
  readonly channel: CommandChannel;
  readonly use: OwnUse;
  readonly entered: readonly Entered[];
  readonly others: readonly Use[];
  readonly policy: CommandPolicy;
}

/** A command that is up, and what it needs until its end. */
interface Inside {
  readonly plan: PlanRecord;
  readonly use: OwnUse;
  readonly running: RunningCommandProcess;
  readonly entered: readonly Entered[];
  readonly caches: LockedCaches;
  readonly upAt: number;
  readonly request: ExecRequest;
  readonly limits: CommandLimits;
  readonly network: CommandNetwork;
  readonly channel: CommandChannel;
  readonly abort: CommandAbort;
  readonly startedAt: number;
  /** To be disposed after its end. */
  readonly rest: AsyncDisposableStack;
}

/**
 * Runs commands inside plans. The plan is claimed while a command starts. While the command runs, it only
 * counts as a use of the plan, so other commands can run in the plan and users can look at it.
 */
export class Runs {
  readonly #parts: RunsParts;

  constructor(parts: RunsParts) {
    this.#parts = parts;
  }

  /**
   * Runs a command until it ends. Fails only if the command can't be started, can't be held to its limits, or
   * its caller aborted it.
   */
  async exec(key: string | undefined, request: ExecRequest): Promise<ExecResult> {
    const result = await (await this.start(key, request)).ended;
    assertNotAborted(result);
    return result;
  }

  async start(key: string | undefined, request: StartRequest): Promise<StartedCommand> {
    assertCommand(request.command);
    if (request.signal?.aborted === true) throw new InterruptedError();
    await using parts = new AsyncDisposableStack();
    // Made before the launcher, so that it is disposed after it: a group can only be removed when it is
    // empty.
    const usual = this.#parts.policies.limits(this.#parts.limits);
    const limits = parts.use(await CommandLimits.keep({ ...usual, ...request.limits }));
    const { stdout = "inherit", openStreams } = request;
    const launcher = parts.use(CommandLauncher.start({ stdout, openStreams }));
    if (limits.group !== undefined) launcher.confineTo(limits.group);
    const { session, uses } = this.#parts;
    const { plans } = session;
    const startedAt = Date.now();
    const found = await plans.find(key);
    if (request.detached === true) {
      const { lastKeeperGone } = await import("./detached/last-keeper.ts");
      await lastKeeperGone(session.stateDir, found, uses);
    }
    const inside = await plans.claimed(found.id, (plan) => this.#start(plan, request, launcher, limits));
    const { plan, running, caches, network } = inside;
    parts.use(caches);
    parts.use(network);
    const abort = parts.use(new CommandAbort(running, request.signal));
    const rest = parts.move();
    const ended = this.#ended({ ...inside, request, limits, abort, startedAt, rest });
    // The caller may look at it later.
    void Promise.allSettled([ended]);
    return {
      planId: plan.id,
      exec: inside.use.id,
      signal: (name) => running.signal(name),
      kill: () => running.kill(),
      ended,
    };
  }

  async #ended({ plan, use, running, entered, caches, upAt, ...command }: Inside): Promise<ExecResult> {
    const { session, notice, keepOutput } = this.#parts;
    const { request, limits, abort, network, channel, startedAt, rest } = command;
    await using _ = rest;
    const exitCode = await running.ended;
    const durationMs = Math.round(milliseconds() - upAt);
    await channel[Symbol.asyncDispose]();
    // What the caller aborted is the command: its end is not cut short with it.
    const { limit, scratch } = await metBeforeEnd(limits, () =>
      session.operations.run({ operation: "end command", planId: plan.id }, () =>
        this.#end(plan, use, entered, startedAt),
      ),
    );
    for (const sentence of await caches.end()) this.#note("cache", plan, sentence);
    if (limit !== undefined)
      notice({ kind: "limit", planId: plan.id, limit, message: limits.sentence(limit) });
    const { denied, sentences } = network.end();
    for (const sentence of sentences) this.#note("denied", plan, sentence);
    const signal = signalOf(exitCode);
    const facts = {
      exitCode,
      ...(signal !== undefined && { signal }),
      ...(abort.isAborted && { aborted: true as const }),
      ...(limit !== undefined && { limit }),
      ...(denied.length > 0 && { denied }),
    };
    const output = keepOutput ? running.output() : undefined;
    const details = {
      ...{ exec: use.id, command: commandText(request.command), durationMs, ...facts },
      ...(output !== undefined && { output }),
    };
    await session.history.note(plan.id, "executed", details);
    return { planId: plan.id, durationMs, ...facts, scratch };
  }

  async #start(plan: PlanRecord, request: StartRequest, launcher: CommandLauncher, limits: CommandLimits) {
    const { uses, folders, session, policies } = this.#parts;
    assertUsable(plan);
    const others = uses.living(plan.id);
    assertOneDetached(plan, request, others);
    const strict = request.strict === true;
    const command = commandText(request.command);
    const detached = request.detached === true ? { detached: session.now().toISOString() } : {};
    const allowed = policies.enter(plan, request);
    for (const line of allowed.refused) this.#note("refused", plan, refusedSentence(line));
    if (request.checkpoint !== false && others.length === 0) await this.#parts.saveBefore(plan, command);
    if (others.length === 0) await this.#inFolder(plan, (own) => beforeCommand(own, allowed.writtenBack));
    const use = uses.begin(plan.id, { command, strict, policy: allowed.digest, ...detached });
    const caches = LockedCaches.take(allowed.caches, (message) => this.#note("cache", plan, message));
    const policy = { ...allowed, caches: caches.caches };
    const entered: Entered[] = [];
    const network = new CommandNetwork(policy.network);
    const channel = new CommandChannel(this.#channelPlace(plan), policy.channel.isOn);
    try {
      await network.prepare(policy, plan);
      for (const { resource } of boundariesOf(plan)) entered.push(await this.#enter(plan, resource.name));
      const running = await this.#launchInQuiet(plan, request, {
        ...{ launcher, limits, network, channel, use, entered, others, policy },
      });
      const upAt = milliseconds();
      await killIfItFails(running, async () => {
        if (!launcher.isWalled) channel.open(running);
        await network.connect(running, launcher.isWalled);
        for (const port of network.published)
          this.#parts.notice({ kind: "published", planId: plan.id, ...port });
        limits.watch(() => scratchUse(folders, plan.id), running);
        const less = weakerSentences(running.weaker, launcher.isWalled && network.isGuarding);
        for (const each of less) this.#note("weaker", plan, each);
        request.onStart?.({ signal: (name) => running.signal(name) });
        // Nothing can be joined without namespaces, and the keeper ends with its Drydock.
        if (!launcher.isWalled) use.started(running.first);
        const started = request.detached === true ? "detached" : "exec started";
        await session.history.note(plan.id, started, { exec: use.id, command });
      });
      return { plan, use, running, entered, caches, network, channel, upAt };
    } catch (thrown) {
      await channel[Symbol.asyncDispose]();
      caches[Symbol.dispose]();
      network[Symbol.dispose]();
      await this.#leave(plan, use, entered);
      throw thrown;
    }
  }

  async #enter(plan: PlanRecord, name: string): Promise<Entered> {
    const { record, strategy } = await this.#parts.sandboxes.usable(plan, name, "change");
    const { ref } = record;
    const view = await strategy.enter(ref);
    const location =
      plan.resources.find(({ resource }) => resource.id === ref.resourceId)?.resource.location ?? "";
    if (view?.kind === "place" && !location.startsWith("/")) return { ref, strategy, sockets: view.path };
    if (view === undefined || !location.startsWith("/")) return { ref, strategy };
    const isFile = factsOfPath(location)?.kind !== "directory";
    // A mount follows no link, so the path must be real.
    const real = view.kind === "place" ? { ...view, path: realPathOf(view.path) ?? view.path } : view;
    const shown = isInSandbox(plan, ref.resourceId)
      ? shownByLink(ref.sandboxId, location, real)
      : shownSandbox(ref.sandboxId, location, real, isFile);
    return { ref, strategy, shown };
  }

  async #launchInQuiet(
    plan: PlanRecord,
    request: ExecRequest,
    attempt: Attempt,
  ): Promise<RunningCommandProcess> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#launch(plan, request, attempt);
      } catch (thrown) {
        const tooTight = attempt.limits.tooTight();
        if (tooTight !== undefined) throw tooTight;
        if (isWithoutNamespaces(thrown) && !attempt.launcher.isWalled) {
          const { confinementAfter, weakness } = await import("./walls/without-namespaces.ts");
          attempt.confinement = confinementAfter(thrown, request);
          attempt.launcher.useWalls();
          this.#note("weaker", plan, weakness(thrown, attempt.confinement, attempt.entered));
        } else if (!isWorthAnother(thrown, tries)) throw thrown;
      }
      using folder = this.#parts.folders.of(plan.id);
      removeOwnFolder(folder, attempt.use.id);
      for (const { strategy, ref } of attempt.entered) await strategy.enter(ref);
    }
  }

  #note(kind: "weaker" | "refused" | "kept" | "cache" | "denied", { id }: PlanRecord, message: string): void {
    this.#parts.notice({ kind, planId: id, message });
  }

  async #launch(plan: PlanRecord, request: ExecRequest, attempt: Attempt): Promise<RunningCommandProcess> {
    const { session, folders, environment } = this.#parts;
    const { launcher, limits, network, channel, use, entered, others, policy, confinement } = attempt;
    const strict = request.strict === true;
    const stateDir = realPathOf(session.stateDir) ?? session.stateDir;
    const shown = distinctlyShown(entered.flatMap((item) => item.shown ?? []));
    const joins = launcher.isWalled
      ? undefined
      : viewToJoin(others, { strict, policy: policy.digest }, shown);
    using folder = folders.of(plan.id);
    const workspaces = await foreignWorkspaces(session.store, stateDir, shown);
    const hidden = [
      stateDir,
      ...workspaces,
      ...[policy.caches.root, ...folders.scratchElsewhere()].filter(isThere),
    ];
    if (confinement !== undefined) {
      const { walledSpec } = await import("./walls/walled-command.ts");
      return await launcher.launch(
        await walledSpec(launcher, {
          ...{ plan, folder, shown, confinement, policy, command: request.command },
          home: environment["HOME"],
          cwd: request.cwd ?? startFolder(plan, this.#parts.cwd),
          hidden,
          network: network.isOpenInWalls,
          variables: { DRYDOCK_SOCKET: undefined, ...(await variablesOf(entered)), ...request.environment },
          countsUser: limits.processLimit !== undefined,
        }),
      );
    }
    const resources = writablePaths(plan, shown);
    const sockets = entered.flatMap((item) => item.sockets ?? []);
    const view = { folder, useId: use.id, environment, strict, shown, sockets, resources, policy };
    const onLost = (path: string) => this.#note("weaker", plan, lostSentence(path));
    const steps = joins === undefined ? await newView({ ...view, hidden, onLost }) : joinedView();
    const variables = commandEnvironment(plan, policy.environment, {
      ...movedResources(plan, entered),
      ...(await variablesOf(entered)),
      ...network.variables,
      ...channel.variables,
      ...request.environment,
    });
    const cwd = pathInside(
      request.cwd ?? startFolder(plan, this.#parts.cwd),
      shown,
      (path) => factsOfPath(path)?.kind === "directory",
    );
    return await launcher.launch(
      commandSpec(launcher, {
        ...{ steps, cwd, environment: variables, strict, ...network.spec, channel: channel.spec },
        command: request.command,
        processLimit: limits.processLimit,
        ...(joins !== undefined && { joins }),
      }),
    );
  }

  #channelPlace({ id: planId }: PlanRecord): ChannelPlace {
    const { session, cwd, environment, config } = this.#parts;
    return { planId, stateDir: session.stateDir, cwd, environment, ...(config !== undefined && { config }) };
  }

  async #inFolder(plan: PlanRecord, work: (own: Folder) => Promise<void>): Promise<void> {
    using folder = this.#parts.folders.of(plan.id);
    await work(folder);
  }

  /**
   * Returns what the command wrote outside the resources. Looks before another process can end the plan and
   * remove its folder.
   */
  async #end(
    plan: PlanRecord,
    use: OwnUse,
    entered: readonly Entered[],
    since: number,
  ): Promise<OutsideSummary> {
    const home = homeOf(this.#parts.environment);
    return await this.#parts.session.plans.claimed(plan.id, async () => {
      using folder = this.#parts.folders.of(plan.id);
      if (this.#parts.uses.living(plan.id).every(({ id }) => id === use.id))
        for (const sentence of await afterCommand(folder)) this.#note("kept", plan, sentence);
      const written = summaryOf(filesOutside(folder, { resources: pathsOf(plan), home, since }));
      await this.#leave(plan, use, entered);
      return written;
    });
  }

  /** Ends this use. If no other command runs in the plan, unmounts what commands needed. */
  async #leave(plan: PlanRecord, use: OwnUse, entered: readonly Entered[]): Promise<void> {
    const { uses, folders } = this.#parts;
    use.end();
    using folder = folders.of(plan.id);
    removeOwnFolder(folder, use.id);
    if (uses.living(plan.id).length > 0) return;
    for (const { strategy, ref } of entered) {
      await strategy.leave(ref);
      await strategy.keepBases(ref);
    }
  }
}
