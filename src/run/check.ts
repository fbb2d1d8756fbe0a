import { DrydockError } from "../core/errors.ts";
import type { RunFolders } from "../sandboxes/run-folders.ts";
import type { Uses } from "../sandboxes/uses.ts";
import { MountTable } from "../system/mount-table.ts";
import { newId } from "../system/new-id.ts";
import { mayMountOnMachine } from "../system/privilege.ts";
import { realPathOf } from "../system/text-files.ts";
import { hasMountsBelow } from "./host-mounts.ts";
import { launch } from "./launcher.ts";
import { scratchLayers } from "./scratch.ts";
import { ensureSkeleton } from "./skeleton.ts";

type Environment = { readonly [name: string]: string | undefined };

/** Whether commands can be run inside on this machine: really runs one, over no sandbox, and leaves nothing behind. */
export async function checkRun(
  folders: RunFolders,
  uses: Uses,
  stateDir: string,
  environment: Environment,
): Promise<{ readonly ok: boolean; readonly detail: string }> {
  // It looks like a plan that nobody knows, so that what a crash leaves is swept away.
  const id = newId();
  using runs = folders.all();
  const use = uses.begin(id, { command: "drydock doctor", strict: false });
  using folder = folders.of(id);
  const table = MountTable.read();
  const privileged = mayMountOnMachine();
  const state = realPathOf(stateDir) ?? stateDir;
  try {
    const running = await launch({
      folder,
      useId: use.id,
      stateDir: state,
      privileged,
      table,
      skeleton: ensureSkeleton(runs),
      shown: [],
      hidden: [state],
      scratch: scratchLayers(environment, [], (at) => !privileged && hasMountsBelow(table, at)),
      strict: false,
      network: true,
      cwd: "/",
      command: ["true"],
      environment: { plain: { PATH: "/usr/bin:/bin" }, exact: [] },
      stdout: "stderr",
    });
    const exitCode = await running.ended;
    const how = privileged ? "as root, without the rights of root over the machine" : "in a user namespace";
    return exitCode === 0
      ? { ok: true, detail: `commands run inside ${how}` }
      : { ok: false, detail: `a command that does nothing ended with exit code ${exitCode}` };
  } catch (thrown) {
    if (!(thrown instanceof DrydockError)) throw thrown;
    return { ok: false, detail: `${thrown.message} ${thrown.hint}` };
  } finally {
    use.end();
    folders.remove(id);
  }
}
