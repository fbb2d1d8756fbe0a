import { BusyError, PlanStateError, UnsupportedError, UsageError } from "../core/errors/errors.ts";
import { isAtOrBelow, parentPath } from "../core/paths/byte-path.ts";
import { boundariesOf, boundaryOf, type PlanRecord } from "../core/plan.ts";
import type { SandboxRef } from "../core/sandbox.ts";
import type { Limits } from "../core/values/limits.ts";
import type { Notice } from "../core/values/notice.ts";
import type { Session } from "../sandboxes/access/session.ts";
import type { PlanSandboxes } from "../sandboxes/plan-sandboxes.ts";
import type { RunFolders } from "../sandboxes/remains/run-folders.ts";
import type { OwnUse, Use, Uses } from "../sandboxes/remains/uses.ts";
import type { GuardedStrategy } from "../strategies/custom/guarded-strategy.ts";
import { isThere } from "../system/data/existence.ts";
import { factsOfPath, realPathOf } from "../system/data/locations.ts";
import { isProcessAlive } from "../system/process/process-identity.ts";
import { commandEnvironment, resourceVariable } from "./environment.ts";
import { commandText, type ExecRequest, type ExecResult, pathsOf } from "./exec.ts";
import { commandSpec } from "./launch/command-spec.ts";
import { CommandLauncher, type RunningCommandProcess } from "./launch/launcher.ts";
import { CommandLimits } from "./limits/command-limits.ts";
import { filesWritten } from "./limits/files-written.ts";
import { scratchUse } from "./limits/scratch-use.ts";
import { joinedView, newView, removeOwnFolder } from "./view/new-view.ts";
import { distinct, pathInside, type Shown, shownAt, shownByLink } from "./view/shown.ts";

export interface RunsParts {
  readonly session: Session;
  readonly sandboxes: PlanSandboxes;
  readonly uses: Uses;
  readonly folders: RunFolders;
  readonly cwd: string;
  readonly environment: { readonly [name: string]: string | undefined };
  /** Saves a plan before a command runs in it. */
  readonly saveBefore: (plan: PlanRecord, command: string) => Promise<void>;
  /** Of every command that is not given others. */
  readonly limits: Limits;
  readonly notice: (notice: Notice) => void;
}

const MOST_ATTEMPTS = 4;

interface Attempt {
  readonly launcher: CommandLauncher;
  readonly limits: CommandLimits;
  readonly use: OwnUse;
  readonly entered: readonly Entered[];
  readonly others: readonly Use[];
}

/** A sandbox that a command is going to see. */
interface Entered {
  readonly ref: SandboxRef;
  readonly strategy: GuardedStrategy;
  readonly shown?: Shown;
}

/**
 * Runs commands inside plans. While one is being put inside, the plan is claimed; while it runs it only
 * counts as a use of the plan, so that others can run in it too, and look at it.
 */
export class Runs {
  readonly #parts: RunsParts;

  constructor(parts: RunsParts) {
    this.#parts = parts;
  }

  /**
   * Runs a command to its end. Fails only if it could not be started at all, or could not be kept within its
   * limits.
   */
  async exec(key: string | undefined, request: ExecRequest): Promise<ExecResult> {
    const { session, notice } = this.#parts;
    assertCommand(request.command);
    // Before the launcher, which has to be gone when the group that it is in goes.
    await using limits = await CommandLimits.keep({ ...this.#parts.limits, ...request.limits });
    using launcher = startLauncher(request);
    if (limits.group !== undefined) launcher.confineTo(limits.group);
    const found = await session.plans.find(key);
    const startedAt = Date.now();
    const { plan, use, running, entered } = await session.plans.claimed(found.id, (plan) =>
      this.#start(plan, request, launcher, limits),
    );
    const exitCode = await running.ended;
    const { limit, files } = await metBeforeEnd(limits, () => this.#end(plan, use, entered, startedAt));
    if (limit !== undefined)
      notice({ kind: "limit", planId: plan.id, limit, message: limits.sentence(limit) });
    const met = limit === undefined ? {} : { limit };
    const details = { command: commandText(request.command), exitCode, ...met };
    await session.history.note(plan.id, "executed", details);
    return { planId: plan.id, exitCode, ...met, scratch: { files } };
  }

  async #start(plan: PlanRecord, request: ExecRequest, launcher: CommandLauncher, limits: CommandLimits) {
    const { uses, folders } = this.#parts;
    assertUsable(plan);
    const others = uses.living(plan.id);
    const strict = request.strict === true;
    if (request.checkpoint !== false && others.length === 0)
      await this.#parts.saveBefore(plan, commandText(request.command));
    const use = uses.begin(plan.id, { command: commandText(request.command), strict });
    const entered: Entered[] = [];
    try {
      for (const { resource } of boundariesOf(plan)) entered.push(await this.#enter(plan, resource.name));
      const running = await this.#launchInQuiet(plan, request, { launcher, limits, use, entered, others });
      await orKill(running, () => {
        limits.watch(
          () => scratchUse(folders, plan.id),
          () => running.kill(),
        );
        request.onStart?.({ signal: (name) => running.signal(name) });
        use.started(running.first);
      });
      return { plan, use, running, entered };
    } catch (thrown) {
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
    if (view === undefined || !location.startsWith("/")) return { ref, strategy };
    const isFile = factsOfPath(location)?.kind !== "directory";
    // No link may be on the way to where something is mounted.
    const real = view.kind === "place" ? { ...view, path: realPathOf(view.path) ?? view.path } : view;
    const shown = isInSandbox(plan, ref.resourceId)
      ? shownByLink(ref.sandboxId, location, real)
      : shownAt(ref.sandboxId, location, real, isFile);
    return { ref, strategy, shown };
  }

  /**
   * Who mounts or unmounts something on the machine while a view is put together can make that fail; then it
   * is put together anew.
   */
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
        // Whether it was others' doing can't be told afterwards: what they mount may be there only for a
        // moment.
        if (!(thrown instanceof UnsupportedError) || tries === MOST_ATTEMPTS) throw thrown;
      }
      using folder = this.#parts.folders.of(plan.id);
      removeOwnFolder(folder, attempt.use.id);
      for (const { strategy, ref } of attempt.entered) await strategy.enter(ref);
    }
  }

  async #launch(plan: PlanRecord, request: ExecRequest, attempt: Attempt): Promise<RunningCommandProcess> {
    const { session, folders, environment } = this.#parts;
    const { launcher, limits, use, entered, others } = attempt;
    const strict = request.strict === true;
    const stateDir = realPathOf(session.stateDir) ?? session.stateDir;
    const shown = distinct(entered.flatMap((item) => item.shown ?? []));
    const joins = viewToJoin(others, strict, shown);
    using folder = folders.of(plan.id);
    const view = { folder, useId: use.id, environment, strict, shown, resources: placesInView(plan, shown) };
    const hidden = [stateDir, ...(await this.#foreignWorkspaces(stateDir, shown))];
    const steps = joins === undefined ? newView({ ...view, hidden }) : joinedView();
    const variables = commandEnvironment(plan, environment, {
      ...placesOf(plan, entered),
      ...(await variablesOf(entered)),
    });
    const cwd = pathInside(
      request.cwd ?? this.#startFolder(plan),
      shown,
      (path) => factsOfPath(path)?.kind === "directory",
    );
    return await launcher.launch(
      commandSpec(launcher, {
        ...{ steps, cwd, environment: variables, strict },
        command: request.command,
        ofItself: limits.ofItself,
        ...(joins !== undefined && { joins }),
      }),
    );
  }

  /**
   * Workspaces beside or inside originals, of whatever plan. What is in a resource of this one is not seen
   * anyway.
   */
  async #foreignWorkspaces(stateDir: string, shown: readonly Shown[]): Promise<readonly string[]> {
    const records = await this.#parts.session.store.sandboxesOutside(stateDir);
    return records
      .flatMap(({ ref }) =>
        typeof ref.metadata["workspace"] === "string" ? [ref.metadata["workspace"]] : [],
      )
      .filter((path) => ![stateDir, ...shown.map(({ at }) => at)].some((above) => isAtOrBelow(path, above)))
      .filter(isThere);
  }

  #startFolder(plan: PlanRecord): string {
    const { cwd } = this.#parts;
    const paths = pathsOf(plan);
    if (paths.some((path) => isAtOrBelow(cwd, path))) return cwd;
    const folder = paths.find((path) => factsOfPath(path)?.kind === "directory");
    return folder ?? (parentPath(paths[0] ?? "/") || "/");
  }

  /**
   * Returns how many files were written outside the resources: counted before another process may end the
   * plan, and its folder with it.
   */
  async #end(plan: PlanRecord, use: OwnUse, entered: readonly Entered[], startedAt: number): Promise<number> {
    return await this.#parts.session.plans.claimed(plan.id, async () => {
      using folder = this.#parts.folders.of(plan.id);
      const files = filesWritten(folder, startedAt);
      await this.#leave(plan, use, entered);
      return files;
    });
  }

  /** The last one out puts out the light. */
  async #leave(plan: PlanRecord, use: OwnUse, entered: readonly Entered[]): Promise<void> {
    const { uses, folders } = this.#parts;
    use.end();
    using folder = folders.of(plan.id);
    removeOwnFolder(folder, use.id);
    if (uses.living(plan.id).length > 0) return;
    for (const { strategy, ref } of entered) await strategy.leave(ref);
  }
}

/**
 * The limit that a command met, and how many files it wrote; whatever can be said about that, it has ended.
 */
async function metBeforeEnd(limits: CommandLimits, end: () => Promise<number>) {
  const [met, ended] = await Promise.allSettled([limits.met(), end()]);
  if (met.status === "rejected") throw met.reason;
  if (ended.status === "rejected") throw ended.reason;
  return { limit: met.value, files: ended.value };
}

function startLauncher({ network, stdout }: Pick<ExecRequest, "network" | "stdout">): CommandLauncher {
  return CommandLauncher.start({ network: network !== false, stdout: stdout ?? "inherit" });
}

/** Whether a resource with a sandbox of its own is inside of another one that has one too. */
function isInSandbox(plan: PlanRecord, resourceId: string): boolean {
  const { location } = plan.resources.find(({ resource }) => resource.id === resourceId)?.resource ?? {
    location: "",
  };
  return boundariesOf(plan).some(
    ({ resource }) =>
      resource.id !== resourceId &&
      resource.location.startsWith("/") &&
      isAtOrBelow(location, resource.location),
  );
}

/** A command that can't be accounted for must not go on. */
async function orKill(running: RunningCommandProcess, action: () => void): Promise<void> {
  try {
    action();
  } catch (thrown) {
    running.kill();
    await running.ended;
    throw thrown;
  }
}

/** Where resources are that are shown elsewhere than in the place of their originals. */
function placesOf(plan: PlanRecord, entered: readonly Entered[]): { readonly [name: string]: string } {
  const moved = entered.flatMap(({ ref, shown }) => {
    if (shown?.original === undefined) return [];
    return plan.resources
      .filter((item) => boundaryOf(plan, item).resource.id === ref.resourceId)
      .map(({ resource, within }) => {
        const at = within === undefined ? shown.at : `${shown.at}/${within.path}`;
        return [resourceVariable(resource.name), at] as const;
      });
  });
  return Object.fromEntries(moved);
}

/** The paths at which a command can write to resources of the plan. */
function placesInView(plan: PlanRecord, shown: readonly Shown[]): readonly string[] {
  const moved = new Set(shown.map(({ original }) => original));
  return [...pathsOf(plan).filter((path) => !moved.has(path)), ...shown.map(({ at }) => at)];
}

async function variablesOf(entered: readonly Entered[]): Promise<{ readonly [name: string]: string }> {
  const all = await Promise.all(entered.map(({ strategy, ref }) => strategy.environment(ref)));
  return Object.assign({}, ...all);
}

/** An overlay can be mounted once, so all commands of a plan that see one share the view of the first. */
function viewToJoin(others: readonly Use[], strict: boolean, shown: readonly Shown[]): number | undefined {
  const alive = others.filter(({ keeper }) => keeper !== undefined && isProcessAlive(keeper));
  const alike = alive.find((other) => other.strict === strict);
  const hasLayers = shown.some(({ view }) => view.kind === "layers");
  if (alike !== undefined && (!strict || hasLayers)) return alike.keeper?.pid;
  const [other] = alive;
  if (other === undefined || !hasLayers) return undefined;
  throw new BusyError(
    `'${other.command}' is running in the plan ${other.strict ? "with" : "without"} --strict (pid ${other.owner.pid}), and this one is to run ${strict ? "with" : "without"} it.`,
    { holder: `${other.command} (pid ${other.owner.pid})` },
  );
}

function assertUsable(plan: PlanRecord): void {
  if (plan.readOnly) {
    throw new UsageError(`The plan ${plan.name} is read-only, and a command could write.`, {
      hint: "Make a plan without --read-only.",
      code: "READ_ONLY",
    });
  }
  if (plan.state !== "open") throw new PlanStateError(plan, "open");
}

function assertCommand([program]: readonly string[]): void {
  if (program !== undefined) return;
  throw new UsageError("There is no command to run.", { hint: "Write it after '--'." });
}
