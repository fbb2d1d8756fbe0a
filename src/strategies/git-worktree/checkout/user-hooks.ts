import { GitError, messageOf, SandboxCommitError } from "../../../core/errors/errors.ts";
import { displayPath } from "../../../core/paths/byte-path.ts";
import type { Attention } from "../../../core/strategy.ts";
import { readWhole, writeWhole } from "../../../system/data/whole-file.ts";
import { failpoint } from "../../../system/failpoints.ts";
import type { SandboxParts } from "../sandbox-parts.ts";
import { ScratchFolder } from "../scratch-folder.ts";
import { ScratchIndex } from "./index-files.ts";

const POINTS = {
  run: failpoint("git.run-hook"),
  message: failpoint("git.write-message"),
  index: failpoint("git.index-for-hook"),
};
const MESSAGE = "COMMIT_EDITMSG";

/**
 * The hooks of the user's repository that apply to a landing. They run only if the user wants them:
 *
 *   commit-msg        runs when a commit of ours needs its message. It may change or refuse the message.
 *   pre-merge-commit  runs before the checkout is looked at. Git has merged the files by then; here the files
 *                     are still the user's, and only the index that the hook gets holds what would land. The
 *                     hook may refuse. A change of that index is refused, because the hook made it from other
 *                     files.
 *   post-merge        runs when everything is in its place and the locks are gone. Its failure changes
 *                     nothing.
 */
export class UserHooks {
  readonly areOn: boolean;
  readonly #parts: SandboxParts;
  readonly #signal: AbortSignal;
  readonly #asked = new Map<string, Promise<string>>();

  constructor(parts: SandboxParts, areOn: boolean, signal: AbortSignal) {
    this.#parts = parts;
    this.areOn = areOn;
    this.#signal = signal;
  }

  /** The message as commit-msg leaves it. The hook runs once for each message. */
  async message(text: string): Promise<string> {
    const asked = this.#asked.get(text) ?? (this.areOn ? this.#edited(text) : Promise.resolve(text));
    this.#asked.set(text, asked);
    return await asked;
  }

  /**
   * Lets pre-merge-commit examine what would land. All of its objects are in the user's repository already.
   */
  async beforeLanding(commit: string): Promise<void> {
    const { git, workspace } = this.#parts;
    using gitDir = this.#parts.openGitDir();
    using index = ScratchIndex.copyOf(gitDir, "index", workspace);
    const context = this.#parts.theirs(index.path);
    await git.change(POINTS.index, context, ["read-tree", "--reset", commit]);
    await this.#ask("pre-merge-commit", [], { GIT_INDEX_FILE: index.path });
    const { code } = await git.look(context, ["diff-index", "--cached", "--quiet", commit], { answers: [1] });
    if (code === 1) throw changedByHook();
  }

  /** Runs post-merge. The landing stays, whatever the hook does. */
  async afterLanding(): Promise<readonly Attention[]> {
    try {
      await this.#run("post-merge", ["0"]);
      return [];
    } catch (thrown) {
      const why = thrown instanceof GitError ? said(thrown) : messageOf(thrown);
      return [{ path: ".", message: `everything has landed, but the hook post-merge failed: ${why}` }];
    }
  }

  async #edited(text: string): Promise<string> {
    using scratch = new ScratchFolder(this.#parts.workspace);
    writeWhole(POINTS.message, scratch.folder, MESSAGE, Buffer.from(`${text.trimEnd()}\n`));
    await this.#ask("commit-msg", [scratch.folder.label(MESSAGE)]);
    const edited = readWhole(scratch.folder, MESSAGE)?.toString().trim() ?? "";
    if (edited === "") throw refused("commit-msg", "it left an empty message");
    return edited;
  }

  /** Runs a hook that may refuse. */
  async #ask(name: string, args: readonly string[], environment: { readonly [name: string]: string } = {}) {
    try {
      await this.#run(name, args, environment);
    } catch (thrown) {
      if (thrown instanceof GitError) throw refused(name, said(thrown), thrown);
      throw thrown;
    }
  }

  async #run(name: string, args: readonly string[], environment: { readonly [name: string]: string } = {}) {
    const { git, checkout } = this.#parts;
    await git.hook(POINTS.run, checkout.root, { name, args, environment, signal: this.#signal });
  }
}

function said({ exitCode, said: words, message }: GitError): string {
  return exitCode === undefined ? message : words || `exit code ${exitCode}`;
}

function refused(name: string, why: string, cause?: GitError): SandboxCommitError {
  return new SandboxCommitError(`The repository's hook ${name} refuses this: ${displayPath(why)}`, {
    ...(cause !== undefined && { cause }),
    hint: "Correct in the plan what the hook rejects, and apply again. Hooks run because sandbox.git.run_hooks is set.",
    code: "HOOK_REFUSED",
  });
}

function changedByHook(): SandboxCommitError {
  return new SandboxCommitError("The repository's hook pre-merge-commit changed what was to be committed.", {
    hint: "The hook works on the checkout, which does not have the plan's files yet, so its changes are refused. Let it only check, or unset sandbox.git.run_hooks.",
    code: "HOOK_CHANGED",
  });
}
