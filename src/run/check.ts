import { DrydockError, UnsupportedError } from "../core/errors/errors.ts";
import type { RunFolders } from "../sandboxes/remains/run-folders.ts";
import type { Uses } from "../sandboxes/remains/uses.ts";
import { scratchNote } from "../sandboxes/scratch/new-scratch.ts";
import { realPathOf } from "../system/data/locations.ts";
import { mayMountOnMachine } from "../system/mount/privilege.ts";
import { newId } from "../system/state/new-id.ts";
import { commandSpec } from "./launch/command-spec.ts";
import type { ViewStep } from "./launch/launch-spec.ts";
import { CommandLauncher, isWithoutNamespaces, SHARED_PROCESSES } from "./launch/launcher.ts";
import { type NewView, newView } from "./view/new-view.ts";
import { isWorthAnother } from "./view/view-attempts.ts";
import { confinementAfter, confinementDetail } from "./walls/without-namespaces.ts";

interface RunCheck {
  readonly ok: boolean;
  readonly detail: string;
}

type Environment = { readonly [name: string]: string | undefined };

/**
 * Whether commands can run in a view on this machine. Runs one over no sandbox, and leaves nothing behind.
 */
export async function checkRun(
  folders: RunFolders,
  uses: Uses,
  stateDir: string,
  environment: Environment,
): Promise<RunCheck> {
  // It looks like an unknown plan, so a sweep removes what a crash leaves.
  const id = newId();
  const use = uses.begin(id, { command: "drydock doctor", strict: false });
  using folder = folders.of(id);
  const realStateDir = realPathOf(stateDir) ?? stateDir;
  const hidden = [realStateDir];
  try {
    using launcher = CommandLauncher.start({ stdout: "stderr" });
    const view = { folder, useId: use.id, environment, strict: false, shown: [], resources: [], hidden };
    const policy = {
      denied: [],
      readable: [],
      persisted: [],
      writtenBack: [],
      sockets: [],
      caches: { root: "", limit: 0, shared: [] },
    };
    // This plan is new: it has nothing to lose.
    const tried = await tryInQuiet(launcher, { ...view, policy, onLost: () => undefined });
    const note = tried.ok ? scratchNote(folder, realStateDir) : undefined;
    return note === undefined ? tried : { ...tried, detail: `${tried.detail}. ${note}` };
  } catch (thrown) {
    if (isWithoutNamespaces(thrown)) return withoutNamespaces(thrown);
    if (!(thrown instanceof DrydockError)) throw thrown;
    return { ok: false, detail: thrown.message };
  } finally {
    use.end();
    folders.remove(id);
  }
}

async function tryInQuiet(launcher: CommandLauncher, view: NewView): Promise<RunCheck> {
  for (let tries = 1; ; tries += 1)
    try {
      return await tryInView(launcher, await newView(view));
    } catch (thrown) {
      if (isWithoutNamespaces(thrown) || !isWorthAnother(thrown, tries)) throw thrown;
    }
}

async function tryInView(launcher: CommandLauncher, steps: readonly ViewStep[]): Promise<RunCheck> {
  const { ended, weaker } = await launcher.launch(
    commandSpec(launcher, {
      ...{ steps, cwd: "/", command: ["true"], strict: false },
      environment: { plain: { PATH: "/usr/bin:/bin" }, exact: [] },
    }),
  );
  const exitCode = await ended;
  if (exitCode !== 0)
    return { ok: false, detail: `a command that does nothing ended with exit code ${exitCode}` };
  const how = mayMountOnMachine()
    ? "as root, without the rights of root over the machine"
    : "in a user namespace";
  const less = weaker.length === 0 ? "" : `. ${SHARED_PROCESSES.slice(0, -1)}`;
  return { ok: true, detail: `commands run inside ${how}${less}` };
}

/** Without namespaces Landlock confines a command, if this kernel has it. */
function withoutNamespaces(refusal: UnsupportedError): RunCheck {
  try {
    confinementAfter(refusal, {});
    return { ok: true, detail: confinementDetail(refusal) };
  } catch (thrown) {
    if (!(thrown instanceof UnsupportedError)) throw thrown;
    const { remedy } = thrown.details;
    return {
      ok: false,
      detail: `${thrown.message}${typeof remedy === "string" ? ` To have them, ${remedy}.` : ""}`,
    };
  }
}
