import { dirname, join } from "node:path";
import { UsageError } from "../../../core/errors/errors.ts";
import { unlessFailed } from "../../../system/calls/errno.ts";
import { Folder } from "../../../system/calls/folder.ts";
import { realPathOf } from "../../../system/data/locations.ts";
import { writeWhole } from "../../../system/data/whole-file.ts";
import { failpoint } from "../../../system/failpoints.ts";
import type { CommandContext } from "../../command-context.ts";

/**
 * The units of systemd that run `drydock cleanup purge` once a day, for a user or for the machine. Each file
 * is written whole; the link that enables the timer comes last, and goes first.
 */
const POINTS = {
  folder: failpoint("timer.folder"),
  write: failpoint("timer.write"),
  enable: failpoint("timer.enable"),
  disable: failpoint("timer.disable"),
  remove: failpoint("timer.remove"),
};
const SERVICE = "drydock-cleanup.service";
const TIMER = "drydock-cleanup.timer";
const WANTS = "timers.target.wants";

const TIMER_TEXT = `[Unit]
Description=Removes once a day what Drydock left behind

[Timer]
OnCalendar=daily
RandomizedDelaySec=1h
Persistent=true

[Install]
WantedBy=timers.target
`;

/** Writes and enables the units. Returns the folder that they are in. */
export function installTimer(context: CommandContext, isSystem: boolean): string {
  const at = unitFolder(context, isSystem);
  using folder = openMaking(at);
  writeWhole(POINTS.write, folder, SERVICE, Buffer.from(serviceText(context)));
  writeWhole(POINTS.write, folder, TIMER, Buffer.from(TIMER_TEXT));
  using wants = ensured(folder, WANTS);
  if (wants.facts(TIMER) === undefined) wants.createLink(POINTS.enable, TIMER, `../${TIMER}`);
  return at;
}

/** Removes the units, if they are there. Returns the folder that they were in. */
export function removeTimer(context: CommandContext, isSystem: boolean): string {
  const at = unitFolder(context, isSystem);
  using root = Folder.open("/");
  using folder = root.openBelowIfThere(at.slice(1));
  using wants = folder?.openBelowIfThere(WANTS);
  if (wants?.facts(TIMER) !== undefined) wants.removeFile(POINTS.disable, TIMER);
  for (const name of [TIMER, SERVICE])
    if (folder?.facts(name) !== undefined) folder.removeFile(POINTS.remove, name);
  return at;
}

function serviceText({ options: { stateDir }, environment }: CommandContext): string {
  const state = stateDir ?? environment["DRYDOCK_STATE_DIR"];
  const words = [
    join(dirname(process.argv[1] ?? ""), "drydock"),
    ...(state === undefined ? [] : ["--state-dir", state]),
    ...["cleanup", "purge"],
  ];
  return `[Unit]
Description=Removes what Drydock left behind

[Service]
Type=oneshot
Nice=10
ExecStart=${words.map(quoted).join(" ")}
`;
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

function unitFolder({ environment }: CommandContext, isSystem: boolean): string {
  if (isSystem) return "/etc/systemd/system";
  const { XDG_CONFIG_HOME: config, HOME: home } = environment;
  const base = config?.startsWith("/") ? config : home?.startsWith("/") ? join(home, ".config") : undefined;
  if (base === undefined)
    throw new UsageError("There is no home to install the timer in.", {
      hint: "Set HOME, or use --system as root.",
    });
  return join(realPathOf(base) ?? base, "systemd/user");
}

function openMaking(path: string): Folder {
  let folder = Folder.open("/");
  for (const name of path.split("/").filter((part) => part !== "")) {
    using above = folder;
    folder = ensured(above, name);
  }
  return folder;
}

function ensured(folder: Folder, name: string): Folder {
  unlessFailed(["EEXIST"], () => folder.createFolder(POINTS.folder, name, 0o755));
  return folder.openChild(name);
}
