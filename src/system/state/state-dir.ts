import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { UsageError } from "../../core/errors/errors.ts";

/** The state directory: the one that is named, else that of the environment, else that of the user. */
export function stateDirOf(
  options: { readonly stateDir?: string },
  environment: { readonly [name: string]: string | undefined },
  cwd: string,
): string {
  const given = options.stateDir ?? environment["DRYDOCK_STATE_DIR"];
  if (given === "")
    throw new UsageError("The state directory is empty.", {
      hint: "Give a path, or leave it out. It may come from DRYDOCK_STATE_DIR.",
    });
  if (given !== undefined) return resolve(cwd, given);
  // The XDG standard says to ignore a relative path. Sandboxes are found by their path, from any folder.
  const { XDG_STATE_HOME: named = "", HOME: home = homedir() } = environment;
  if (isAbsolute(named)) return join(named, "drydock");
  if (!isAbsolute(home))
    throw new UsageError(home === "" ? "HOME is empty." : `HOME is '${home}', which is no whole path.`, {
      hint: "Set HOME to your home, unset it, or name a folder for Drydock in DRYDOCK_STATE_DIR.",
    });
  return join(home, ".local", "state", "drydock");
}
