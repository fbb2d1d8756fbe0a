import { dirname, join } from "node:path";
import { UsageError } from "../../core/errors/errors.ts";
import { unlessFailed } from "../../system/calls/errno.ts";
import { Folder } from "../../system/calls/folder.ts";
import { realPathOf } from "../../system/data/locations.ts";
import type { Failpoint } from "../../system/failpoints.ts";
import type { CommandContext } from "../command-context.ts";

/** Where units of systemd are, and how they start Drydock. */

/** A command line of systemd that runs this Drydock on this state directory. */
export function drydockWords(
  { options: { stateDir }, environment }: CommandContext,
  command: readonly string[],
): string {
  const state = stateDir ?? environment["DRYDOCK_STATE_DIR"];
  const program = join(dirname(process.argv[1] ?? ""), "drydock");
  return [program, ...(state === undefined ? [] : ["--state-dir", state]), ...command].map(quoted).join(" ");
}

/** A word of a command line of systemd. */
function quoted(word: string): string {
  if (/[\n\r]/.test(word))
    throw new UsageError("A path with a line break can't be in a unit of systemd.", {
      hint: "Give a state directory with another path.",
    });
  const escaped = word.replace(/[\\"]/g, "\\$&").replaceAll("%", "%%").replaceAll("$", "$$$$");
  return `"${escaped}"`;
}

export function unitFolder({ environment }: CommandContext, isSystem: boolean): string {
  if (isSystem) return "/etc/systemd/system";
  const { XDG_CONFIG_HOME: config, HOME: home } = environment;
  const base = config?.startsWith("/") ? config : home?.startsWith("/") ? join(home, ".config") : undefined;
  if (base === undefined)
    throw new UsageError("There is no home to install units of systemd in.", {
      hint: "Set HOME, or use --system as root.",
    });
  return join(realPathOf(base) ?? base, "systemd/user");
}

export function openMaking(point: Failpoint, path: string): Folder {
  let folder = Folder.open("/");
  for (const name of path.split("/").filter((part) => part !== "")) {
    using above = folder;
    folder = ensuredFolder(point, above, name);
  }
  return folder;
}

export function ensuredFolder(point: Failpoint, folder: Folder, name: string): Folder {
  unlessFailed(["EEXIST"], () => folder.createFolder(point, name, 0o755));
  return folder.openChild(name);
}
