import { type Change, type DiffView, diffViewOf, type TakeChange } from "../../core/change.ts";
import {
  messageOf,
  SandboxCreationError,
  SandboxRollbackError,
  SandboxStateError,
  UnsupportedError,
} from "../../core/errors/errors.ts";
import { ROOT_PATH } from "../../core/paths/byte-path.ts";
import type { Resource } from "../../core/resource/resource.ts";
import { type SandboxRef, sandboxIdFor } from "../../core/sandbox.ts";
import type { CommitResult, OnePhaseSandboxStrategy, StrategyContext } from "../../core/strategy.ts";
import { builtInStrength } from "../../core/strategy-names.ts";
import { scopeFrom } from "../../engine/sandbox/sandbox-reference.ts";
import { FolderEntries } from "../../engine/sandbox/shown-entries.ts";
import { type FileContent, readFileBelow, writeFileBelow } from "../../engine/sandbox/writing.ts";
import { shownChanges } from "../../engine/show/diff-view.ts";
import { writtenChange } from "../../engine/show/written-change.ts";
import { runInTurns } from "../../engine/work/pace.ts";
import { scopeOf, toEnginePath, toResourcePath } from "../../engine/workspace/scope.ts";
import { Folder } from "../../system/calls/folder.ts";
import { type BrowsedSandbox, Browsing } from "../folder/browsing.ts";
import { RecordedTree } from "./recorded-tree.ts";

/**
 * No isolation: programs work on the original itself. A record of every entry shows what changed since the
 * plan was made, but there is no copy, so nothing can be taken back. Used only where the user asks for it.
 */
export class NoneStrategy implements OnePhaseSandboxStrategy {
  readonly name = "none";
  readonly capabilities = {
    commit: "in-place",
    undo: false,
    checkpoint: false,
    isolation: "none",
    strength: builtInStrength("none"),
    resourceTypes: ["fs-directory", "fs-file", "fs-mount", "git-checkout"],
  } as const;
  readonly #context: StrategyContext;

  readonly #browsing = new Browsing(
    (...given) => this.#browse(...given),
    (...given) => this.write(...given),
  );
  readonly stat: Browsing["stat"] = (...given) => this.#browsing.stat(...given);
  readonly list: Browsing["list"] = (...given) => this.#browsing.list(...given);
  readonly readPart: Browsing["readPart"] = (...given) => this.#browsing.readPart(...given);
  readonly writeFrom: Browsing["writeFrom"] = (...given) => this.#browsing.writeFrom(...given);
  readonly makeFolder: Browsing["makeFolder"] = (...given) => this.#browsing.makeFolder(...given);
  readonly remove: Browsing["remove"] = (...given) => this.#browsing.remove(...given);
  readonly rename: Browsing["rename"] = (...given) => this.#browsing.rename(...given);

  constructor(context: StrategyContext) {
    this.#context = context;
  }

  async create(planId: string, resource: Resource): Promise<SandboxRef> {
    const scope = scopeOf(resource);
    const sandboxId = sandboxIdFor(planId, resource.id);
    const record = this.#record(sandboxId);
    if (record.isFinished) {
      throw new SandboxStateError(`Sandbox ${sandboxId} has been created already.`, {
        from: "CREATED",
        to: "PENDING",
        hint: "Use the existing one.",
      });
    }
    const metadata = {
      root: scope.root,
      path: resource.location,
      ...(scope.only !== undefined && { only: scope.only }),
    };
    const ref: SandboxRef = { sandboxId, planId, resourceId: resource.id, strategyName: this.name, metadata };
    await this.#context.recordIntent(ref, [{ kind: "folder", location: record.path }]);
    try {
      using original = Folder.open(scope.root);
      let done = 0;
      await runInTurns(record.make(original, scope), (entries) => {
        done += entries;
        this.#context.progress({ task: "recording", done });
      });
    } catch (thrown) {
      record.remove();
      throw new SandboxCreationError(`${resource.location} could not be recorded: ${messageOf(thrown)}`, {
        cause: thrown,
      });
    }
    return ref;
  }

  async read(ref: SandboxRef, path: string): Promise<Uint8Array> {
    using original = Folder.open(scopeFrom(ref).root);
    return readFileBelow(original, toEnginePath(scopeFrom(ref), path));
  }

  async write(ref: SandboxRef, path: string, bytes: FileContent): Promise<Change> {
    const scope = scopeFrom(ref);
    using original = Folder.open(scope.root);
    const record = this.#record(ref.sandboxId);
    record.removeTemporary(original);
    try {
      const { before, after } = writeFileBelow(original, toEnginePath(scope, path), bytes, (temporary) =>
        record.noteTemporary(temporary),
      );
      return writtenChange(toResourcePath(scope, toEnginePath(scope, path)), before, after);
    } finally {
      record.removeTemporary(original);
    }
  }

  async #browse<T>(
    ref: SandboxRef,
    purpose: "look" | "change",
    action: (sandbox: BrowsedSandbox) => T,
  ): Promise<T> {
    const scope = scopeFrom(ref);
    using original = Folder.open(scope.root);
    if (purpose === "change") this.#record(ref.sandboxId).removeTemporary(original);
    const inside = (path: string) => toEnginePath(scope, path);
    return action({ entries: new FolderEntries(original), inside, isHidden: () => false });
  }

  async diff(ref: SandboxRef, take?: TakeChange): Promise<DiffView> {
    const scope = scopeFrom(ref);
    using original = Folder.open(scope.root);
    const changes = shownChanges(this.#record(ref.sandboxId).diff(original, scope), {
      sandbox: original,
      policy: { allowSetid: true, allowDevices: true },
      originalIsBase: () => false,
      mapPath: (path) => toResourcePath(scope, path),
    });
    return diffViewOf(changes, take);
  }

  /** There is no commit step: all changes are in the original already. */
  async commit(ref: SandboxRef): Promise<CommitResult> {
    this.#removeTemporary(ref);
    return { changes: (await this.diff(ref)).changes.length, attention: [] };
  }

  async rollback(ref: SandboxRef): Promise<void> {
    const { changes } = await this.diff(ref);
    if (changes.length === 0) return;
    throw new SandboxRollbackError(
      `${scopeFrom(ref).root} has no sandbox: the plan changes it in place, so its changes can't be taken back.`,
      {
        hint: "Look at the diff of the plan, and take its changes back by hand.",
      },
    );
  }

  async checkpoint(): Promise<undefined> {
    throw noCheckpoints();
  }

  async restoreCheckpoint(): Promise<void> {
    throw noCheckpoints();
  }

  async cleanup(ref: SandboxRef): Promise<void> {
    this.#removeTemporary(ref);
    this.#record(ref.sandboxId).remove();
  }

  async path(ref: SandboxRef): Promise<string> {
    const { root, only } = scopeFrom(ref);
    return only === undefined ? root : `${root}/${only}`;
  }

  /** Removes the temporary file of a write that crashed. The original may be gone by now. */
  #removeTemporary(ref: SandboxRef): void {
    const { root } = scopeFrom(ref);
    using above = Folder.open("/");
    using original = above.openBelowIfThere(root.slice(1) || ROOT_PATH);
    if (original !== undefined) this.#record(ref.sandboxId).removeTemporary(original);
  }

  #record(sandboxId: string): RecordedTree {
    return new RecordedTree(this.#context.stateDir, sandboxId);
  }
}

function noCheckpoints(): UnsupportedError {
  return new UnsupportedError("Work in place has no checkpoints.", {
    hint: "Choose a strategy that isolates the resource.",
  });
}
