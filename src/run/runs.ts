import { isAtOrBelow, parentPath } from "../core/byte-path.ts";
import { BusyError, PlanStateError, UnsupportedError, UsageError } from "../core/errors.ts";
import { boundariesOf, boundaryOf, type PlanRecord } from "../core/plan.ts";
import type { SandboxRef } from "../core/sandbox.ts";
import { findPlan } from "../plans/find-plan.ts";
import { type Claims, planKey } from "../sandboxes/claims.ts";
import type { GuardedStrategy } from "../sandboxes/guarded-strategy.ts";
import type { PlanSandboxes } from "../sandboxes/plan-sandboxes.ts";
import type { RunFolders } from "../sandboxes/run-folders.ts";
import type { OwnUse, Use, Uses } from "../sandboxes/uses.ts";
import type { HistoryEntry, Store } from "../store/store.ts";
import { isThere } from "../system/existence.ts";
import type { IsolatedProcess } from "../system/isolated-process.ts";
import { factsOfPath } from "../system/locations.ts";
import { MountTable } from "../system/mount-table.ts";
import { mayMountOnMachine } from "../system/privilege.ts";
import { isProcessAlive } from "../system/process-identity.ts";
import { dropTypedAhead } from "../system/terminal-input.ts";
import { realPathOf } from "../system/text-files.ts";
import { commandEnvironment, resourceVariable } from "./environment.ts";
import { commandText, type ExecRequest, type ExecResult, pathsOf } from "./exec.ts";
import { hasMountsBelow } from "./host-mounts.ts";
import { launch, removeOwnFolder } from "./launcher.ts";
import { filesWritten, scratchLayers } from "./scratch.ts";
import { distinct, pathInside, type Shown, shownAt, shownByLink } from "./shown.ts";
import { ensureSkeleton } from "./skeleton.ts";

export interface RunsParts {
  readonly store: Store;
  readonly claims: Claims;
  readonly sandboxes: PlanSandboxes;
  readonly uses: Uses;
  readonly folders: RunFolders;
  readonly stateDir: string;
  readonly cwd: string;
  readonly environment: { readonly [name: string]: string | undefined };
  /** Saves a plan before a command runs in it. */
  readonly saveBefore: (plan: PlanRecord, command: string) => Promise<void>;
  readonly history: (planId: string, event: string, details: HistoryEntry["details"]) => HistoryEntry;
}

const MOST_ATTEMPTS = 4;

/** A sandbox that a command is going to see. */
interface Entered {
  readonly ref: SandboxRef;
  readonly strategy: GuardedStrategy;
  readonly shown?: Shown;
}

/**
 * Runs commands inside plans. While one is being put inside, the plan is claimed; while it runs it only counts as a use of the plan, so that
 * others can run in it too, and look at it.
 */
export class Runs {
  readonly #parts: RunsParts;

  constructor(parts: RunsParts) {
    this.#parts = parts;
  }

  /** Runs a command to its end. Fails only if it could not be started at all. */
  async exec(key: string | undefined, request: ExecRequest): Promise<ExecResult> {
    const { store, history, folders } = this.#parts;
    const found = await findPlan(store, key);
    assertCommand(request.command);
    const startedAt = Date.now();
    const { plan, use, running, entered } = await this.#claimed(found, (plan) => this.#start(plan, request));
    const exitCode = await running.ended;
    dropTypedAhead();
    await this.#end(plan, use, entered);
    using folder = folders.of(plan.id);
    const details = { command: commandText(request.command), exitCode };
    await store.write([{ put: "history", record: history(plan.id, "executed", details) }], "ordered");
    return { planId: plan.id, exitCode, scratch: { files: filesWritten(folder, startedAt) } };
  }

  async #claimed<T>({ id, name }: PlanRecord, action: (plan: PlanRecord) => Promise<T>): Promise<T> {
    const { claims, store } = this.#parts;
    return await claims.holding([planKey(id)], `The plan ${name}`, async () => action(await findPlan(store, id)));
  }

  async #start(plan: PlanRecord, request: ExecRequest) {
    const { uses } = this.#parts;
    assertUsable(plan);
    const others = uses.living(plan.id);
    const strict = request.strict === true;
    if (request.checkpoint !== false && others.length === 0)
      await this.#parts.saveBefore(plan, commandText(request.command));
    const use = uses.begin(plan.id, { command: commandText(request.command), strict });
    const entered: Entered[] = [];
    try {
      for (const { resource } of boundariesOf(plan)) entered.push(await this.#enter(plan, resource.name));
      const running = await this.#launchInQuiet(plan, request, use, entered, others);
      await orKill(running, () => {
        request.onStart?.({ signal: (name) => running.signal(name) });
        use.started(running.keeper);
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
    const location = plan.resources.find(({ resource }) => resource.id === ref.resourceId)?.resource.location ?? "";
    if (view === undefined || !location.startsWith("/")) return { ref, strategy };
    const isFile = factsOfPath(location)?.kind !== "directory";
    // No link may be on the way to where something is mounted.
    const real = view.kind === "place" ? { ...view, path: realPathOf(view.path) ?? view.path } : view;
    const shown = isInSandbox(plan, ref.resourceId)
      ? shownByLink(ref.sandboxId, location, real)
      : shownAt(ref.sandboxId, location, real, isFile);
    return { ref, strategy, shown };
  }

  /** Who mounts or unmounts something on the machine while a view is put together can make that fail; then it is put together anew. */
  async #launchInQuiet(
    plan: PlanRecord,
    request: ExecRequest,
    use: OwnUse,
    entered: readonly Entered[],
    others: readonly Use[],
  ): Promise<IsolatedProcess> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#launch(plan, request, use, entered, others);
      } catch (thrown) {
        // Whether it was others' doing can't be told afterwards: what they mount may be there only for a moment.
        if (!(thrown instanceof UnsupportedError) || attempt === MOST_ATTEMPTS) throw thrown;
      }
      using folder = this.#parts.folders.of(plan.id);
      removeOwnFolder(folder, use.id);
      for (const { strategy, ref } of entered) await strategy.enter(ref);
    }
  }

  async #launch(
    plan: PlanRecord,
    request: ExecRequest,
    use: OwnUse,
    entered: readonly Entered[],
    others: readonly Use[],
  ): Promise<IsolatedProcess> {
    const { folders, environment } = this.#parts;
    const strict = request.strict === true;
    const stateDir = realPathOf(this.#parts.stateDir) ?? this.#parts.stateDir;
    const shown = distinct(entered.flatMap((item) => item.shown ?? []));
    const joins = viewToJoin(others, strict, shown);
    const table = MountTable.read();
    const privileged = mayMountOnMachine();
    const cannotCover = (at: string) => !privileged && hasMountsBelow(table, at);
    using runs = folders.all();
    using folder = folders.of(plan.id);
    return await launch({
      folder,
      useId: use.id,
      stateDir,
      skeleton: ensureSkeleton(runs),
      shown,
      hidden: [stateDir, ...(await this.#foreignWorkspaces(stateDir, shown))],
      privileged,
      table,
      scratch: strict ? [] : scratchLayers(environment, placesInView(plan, shown), cannotCover),
      strict,
      network: request.network !== false,
      ...(joins !== undefined && { joins }),
      cwd: pathInside(request.cwd ?? this.#startFolder(plan), shown, (path) => factsOfPath(path)?.kind === "directory"),
      command: request.command,
      environment: commandEnvironment(plan, environment, {
        ...placesOf(plan, entered),
        ...(await variablesOf(entered)),
      }),
      stdout: request.stdout ?? "inherit",
    });
  }

  /** Workspaces beside or inside originals, of whatever plan. What is in a resource of this one is not seen anyway. */
  async #foreignWorkspaces(stateDir: string, shown: readonly Shown[]): Promise<readonly string[]> {
    const records = await this.#parts.store.liveSandboxes();
    return records
      .flatMap(({ ref }) => (typeof ref.metadata["workspace"] === "string" ? [ref.metadata["workspace"]] : []))
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

  async #end(plan: PlanRecord, use: OwnUse, entered: readonly Entered[]): Promise<void> {
    await this.#claimed(plan, () => this.#leave(plan, use, entered));
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

/** Whether a resource with a sandbox of its own is inside of another one that has one too. */
function isInSandbox(plan: PlanRecord, resourceId: string): boolean {
  const { location } = plan.resources.find(({ resource }) => resource.id === resourceId)?.resource ?? { location: "" };
  return boundariesOf(plan).some(
    ({ resource }) =>
      resource.id !== resourceId && resource.location.startsWith("/") && isAtOrBelow(location, resource.location),
  );
}

/** A command that can't be accounted for must not go on. */
async function orKill(running: IsolatedProcess, action: () => void): Promise<void> {
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
  throw new UsageError("There is no command to run.", { hint: "Write it behind '--'." });
}
