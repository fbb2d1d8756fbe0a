import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  type Attention,
  type Change,
  type CommitResult,
  type DiffView,
  PathPatterns,
  type PlainData,
  type PreparedCommit,
  type Resource,
  SandboxConflictError,
  type SandboxRef,
  SandboxStateError,
  type StrategyContext,
  sandboxIdFor,
  type Transaction,
  type TwoPhaseSandboxStrategy,
  UsageError,
} from "drydock-sandbox/strategy";

/**
 * A strategy for something that is no folder, written only against what the package exports: a drawer is one
 * JSON file that maps names to base64. A sandbox is a folder with `base`, what the drawer was, `work`, what
 * it is to be, and `landed`, what commits of this sandbox took away, but for those of a part of the work.
 */
export type Drawer = { readonly [path: string]: string };

/** What lands, by path: what is there, and what comes. Null stands for nothing. */
export type Steps = { readonly [path: string]: readonly [before: string | null, after: string | null] };

export class DrawerStrategy implements TwoPhaseSandboxStrategy {
  readonly name: string = "drawer";
  readonly capabilities = { commit: "two-phase", partial: true, resourceTypes: ["drawer"] } as const;
  protected readonly context: StrategyContext;

  constructor(context: StrategyContext) {
    this.context = context;
  }

  async create(planId: string, resource: Resource): Promise<SandboxRef> {
    const sandboxId = sandboxIdFor(planId, resource.id);
    const folder = join(this.context.stateDir, sandboxId);
    if (existsSync(join(folder, "work")))
      throw new SandboxStateError(`${sandboxId} is there already.`, { from: "CREATED", to: "PENDING" });
    const metadata = { folder, original: resource.location };
    const ref = { sandboxId, planId, resourceId: resource.id, strategyName: this.name, metadata };
    await this.context.recordIntent(ref, [{ kind: "folder", location: folder }]);
    this.context.failpoint("drawer.create");
    mkdirSync(folder, { recursive: true });
    const drawer = this.load(resource.location);
    for (const [name, content] of [
      ["landed", {}] as const,
      ["base", drawer] as const,
      ["work", drawer] as const,
    ])
      this.save(join(folder, name), content);
    return ref;
  }

  async read(ref: SandboxRef, path: string): Promise<Uint8Array> {
    const found = this.load(fileOf(ref, "work"))[checked(path)];
    if (found === undefined)
      throw new UsageError(`There is no ${path}.`, { hint: "See the diff.", code: "NO_SUCH_FILE" });
    return Buffer.from(found, "base64");
  }

  async write(ref: SandboxRef, path: string, bytes: Uint8Array): Promise<Change> {
    const work = this.load(fileOf(ref, "work"));
    const operation = work[checked(path)] === undefined ? "added" : "modified";
    this.save(fileOf(ref, "work"), { ...work, [path]: Buffer.from(bytes).toString("base64") });
    return { path, operation, kind: "object" };
  }

  async diff(ref: SandboxRef): Promise<DiffView> {
    const steps = differences(this.load(fileOf(ref, "base")), this.load(fileOf(ref, "work")));
    return {
      changes: Object.entries(steps).map(([path, [before, after]]) => {
        const operation = before === null ? "added" : after === null ? "deleted" : "modified";
        return { path, operation, kind: "object" };
      }),
    };
  }

  async commit(ref: SandboxRef): Promise<CommitResult> {
    const transaction: Transaction = { id: "alone", planId: ref.planId, direction: "commit" };
    const prepared = await this.prepare(ref, transaction);
    return prepared === null
      ? { changes: 0, attention: [] }
      : await this.commitPrepared(ref, transaction, prepared);
  }

  async rollback(ref: SandboxRef): Promise<void> {
    this.land(ref, reversed(this.load(fileOf(ref, "landed")) as unknown as Steps));
    for (const name of ["base", "work"]) this.save(fileOf(ref, name), this.load(originalOf(ref)));
    this.save(fileOf(ref, "landed"), {});
  }

  async checkpoint(ref: SandboxRef, checkpointId: string): Promise<undefined> {
    this.save(fileOf(ref, `saved-${checkpointId}`), this.load(fileOf(ref, "work")));
  }

  async restoreCheckpoint(ref: SandboxRef, checkpointId: string): Promise<void> {
    this.context.failpoint("drawer.restore");
    this.save(fileOf(ref, "work"), this.load(fileOf(ref, `saved-${checkpointId}`)));
  }

  async cleanup(ref: SandboxRef): Promise<void> {
    // Last what says that the sandbox is whole: one that is cut off here is made anew.
    const folder = String(ref.metadata["folder"]);
    if (existsSync(folder))
      for (const name of readdirSync(folder)) rmSync(join(folder, name), { force: true });
    this.context.failpoint("drawer.remove");
    rmSync(folder, { recursive: true, force: true });
  }

  async prepare(ref: SandboxRef, transaction: Transaction): Promise<PreparedCommit | null> {
    const steps = this.#stepsOf(ref, transaction);
    if (Object.keys(steps).length === 0) return null;
    const now = this.load(originalOf(ref));
    const conflicts = Object.entries(steps).filter(([path, [before]]) => (now[path] ?? null) !== before);
    if (conflicts.length > 0)
      throw new SandboxConflictError(conflicts.map(([path]) => ({ path, why: "another writer changed it" })));
    this.context.failpoint("drawer.prepare");
    const data = {
      steps: steps as { readonly [path: string]: PlainData },
      isPart: transaction.only !== undefined,
    };
    return { changes: Object.keys(steps).length, data };
  }

  async commitPrepared(
    ref: SandboxRef,
    transaction: Transaction,
    prepared: PreparedCommit,
  ): Promise<CommitResult> {
    const steps = stepsOf(prepared);
    const isForRollback = transaction.direction === "commit" && prepared.data["isPart"] !== true;
    if (isForRollback && existsSync(fileOf(ref, "landed")))
      this.save(fileOf(ref, "landed"), {
        ...this.load(fileOf(ref, "landed")),
        ...(steps as unknown as Drawer),
      });
    this.land(ref, steps);
    if (existsSync(fileOf(ref, "work"))) this.save(fileOf(ref, "base"), this.nextBase(ref, steps));
    return { changes: prepared.changes, attention: [] };
  }

  async rollbackPrepared(
    ref: SandboxRef,
    _: Transaction,
    prepared?: PreparedCommit,
  ): Promise<readonly Attention[]> {
    this.context.failpoint("drawer.take-back");
    if (prepared === undefined) return [];
    this.land(ref, reversed(stepsOf(prepared)));
    return [];
  }

  #stepsOf(ref: SandboxRef, { undoes, only }: Transaction): Steps {
    if (undoes !== undefined) return reversed(stepsOf(undoes.prepared));
    const all = differences(this.load(fileOf(ref, "base")), this.load(fileOf(ref, "work")));
    const patterns = new PathPatterns(only ?? ["."]);
    return Object.fromEntries(Object.entries(all).filter(([path]) => patterns.has(path)));
  }

  /**
   * What the work is compared with once these steps are done: what somebody else did meanwhile is not part of
   * it.
   */
  protected nextBase(ref: SandboxRef, steps: Steps): Drawer {
    const base: { [path: string]: string } = { ...this.load(fileOf(ref, "base")) };
    for (const [path, [, after]] of Object.entries(steps)) {
      if (after === null) delete base[path];
      else base[path] = after;
    }
    return base;
  }

  /** Does every step that has not been done. */
  protected land(ref: SandboxRef, steps: Steps): void {
    const now: { [path: string]: string } = { ...this.load(originalOf(ref)) };
    for (const [path, [before, after]] of Object.entries(steps)) {
      if ((now[path] ?? null) !== before) continue;
      if (after === null) delete now[path];
      else now[path] = after;
    }
    this.context.failpoint("drawer.land");
    this.save(originalOf(ref), now);
  }

  protected load(path: string): Drawer {
    return JSON.parse(readFileSync(path, "utf8")) as Drawer;
  }

  /** At no moment is the file missing or half written. */
  protected save(path: string, drawer: Drawer): void {
    writeFileSync(`${path}.new`, JSON.stringify(drawer));
    this.context.failpoint("drawer.save");
    renameSync(`${path}.new`, path);
  }
}

function differences(before: Drawer, after: Drawer): Steps {
  const paths = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return Object.fromEntries(
    paths
      .filter((path) => before[path] !== after[path])
      .map((path) => [path, [before[path] ?? null, after[path] ?? null]]),
  );
}

function stepsOf({ data }: PreparedCommit): Steps {
  return data["steps"] as unknown as Steps;
}

function reversed(steps: Steps): Steps {
  return Object.fromEntries(
    Object.entries(steps).map(([path, [before, after]]) => [path, [after, before] as const]),
  );
}

function checked(path: string): string {
  if (path.startsWith("/") || path.split("/").includes(".."))
    throw new UsageError(`${path} leads out.`, { hint: "Give a path inside.", code: "BAD_PATH" });
  return path;
}

function fileOf(ref: SandboxRef, name: string): string {
  return join(String(ref.metadata["folder"]), name);
}

function originalOf(ref: SandboxRef): string {
  return String(ref.metadata["original"]);
}
