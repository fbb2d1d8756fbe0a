import { DrydockError } from "../core/errors/errors.ts";
import type { RunFolders } from "../sandboxes/remains/run-folders.ts";
import type { Uses } from "../sandboxes/remains/uses.ts";
import { realPathOf } from "../system/data/locations.ts";
import { mayMountOnMachine } from "../system/mount/privilege.ts";
import { newId } from "../system/state/new-id.ts";
import { commandSpec } from "./launch/command-spec.ts";
import { CommandLauncher } from "./launch/launcher.ts";
import { newView } from "./view/new-view.ts";

const DENIED = "This machine does not allow it; root can.";

type Environment = { readonly [name: string]: string | undefined };

/**
 * Whether commands can run in a view on this machine. Runs one over no sandbox, and leaves nothing behind.
 */
export async function checkRun(
  folders: RunFolders,
  uses: Uses,
  stateDir: string,
  environment: Environment,
): Promise<{ readonly ok: boolean; readonly detail: string }> {
  // It looks like an unknown plan, so a sweep removes what a crash leaves.
  const id = newId();
  const use = uses.begin(id, { command: "drydock doctor", strict: false });
  using folder = folders.of(id);
  const privileged = mayMountOnMachine();
  const hidden = [realPathOf(stateDir) ?? stateDir];
  try {
    using launcher = CommandLauncher.start({ network: true, stdout: "stderr" });
    const view = { folder, useId: use.id, environment, strict: false, shown: [], resources: [], hidden };
    const running = await launcher.launch(
      commandSpec(launcher, {
        steps: newView(view),
        cwd: "/",
        command: ["true"],
        environment: { plain: { PATH: "/usr/bin:/bin" }, exact: [] },
        strict: false,
      }),
    );
    const exitCode = await running.ended;
    const how = privileged ? "as root, without the rights of root over the machine" : "in a user namespace";
    return exitCode === 0
      ? { ok: true, detail: `commands run inside ${how}` }
      : { ok: false, detail: `a command that does nothing ended with exit code ${exitCode}` };
  } catch (thrown) {
    if (!(thrown instanceof DrydockError)) throw thrown;
    return {
      ok: false,
      detail: thrown.details["denied"] === true ? `${thrown.message} ${DENIED}` : thrown.message,
    };
  } finally {
    use.end();
    folders.remove(id);
  }
}
