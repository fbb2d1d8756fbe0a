import type { StrategyCapabilities } from "../core/capabilities.ts";
import type { SandboxRef } from "../core/sandbox.ts";
import type { StrategyContext } from "../core/strategy.ts";
import type { Folder } from "../system/folder.ts";
import { CopiedTree, type DataWay, treePath } from "./copied-tree.ts";
import { FolderStrategy } from "./folder-strategy.ts";
import type { Steps } from "./pace.ts";
import { noteRestored } from "./restored-baseline.ts";
import type { RestoredTimes } from "./restored-times.ts";
import type { OpenSandbox } from "./sandbox-reference.ts";
import type { Scope } from "./scope.ts";
import { finishRestore, saveCheckpoint } from "./tree-checkpoints.ts";

/** What a strategy that works on a copy of a folder or file says of itself. */
export interface CopyingOptions {
  readonly name: string;
  readonly data: DataWay;
  readonly capabilities: StrategyCapabilities;
}

/**
 * A sandbox that is a copy of the original: everything that `filesystem_copy` and `copy_on_write` share, which is all but the way in which the
 * content of a file is copied.
 */
export class CopyingStrategy extends FolderStrategy<CopiedTree> {
  readonly #data: DataWay;

  constructor(context: StrategyContext, { name, data, capabilities }: CopyingOptions) {
    super(context, name, capabilities);
    this.#data = data;
  }

  async path(ref: SandboxRef): Promise<string> {
    using sandbox = await this.open(ref);
    return sandbox.tree.path;
  }

  protected treeIn(workspace: Folder, scope: Scope, asBefore: RestoredTimes["asBefore"]): CopiedTree {
    return new CopiedTree(workspace, scope, this.#data, asBefore);
  }

  protected programPath(workspace: string, scope: Scope): string {
    return treePath(workspace, scope);
  }

  protected *saveCheckpoint({ tree, original, own, workspace }: OpenSandbox<CopiedTree>, id: string): Steps {
    const changed = tree.diff(original, own).changes.map(({ path }) => path);
    yield* saveCheckpoint({ workspace, withMarks: false }, id, own, () => Buffer.from(JSON.stringify(changed)));
  }

  protected *finishRestore(workspace: Folder, tree: CopiedTree): Steps {
    yield* finishRestore(
      { workspace, withMarks: false },
      () => tree.openOwn(),
      (notes, own, restored) => {
        const baseline = tree.loadBaseline();
        noteRestored(baseline, new Set(JSON.parse(notes.toString()) as string[]), own, restored);
        tree.saveBaseline(baseline);
      },
    );
  }

  protected async freeze(): Promise<void> {
    // What somebody still writes to while it lands is copied out instead of moved (staging.ts), so nobody has to be kept out.
  }
}
