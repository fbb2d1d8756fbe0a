import { Folder } from "../../../system/calls/folder.ts";
import { writeWhole } from "../../../system/data/whole-file.ts";
import { failpoint } from "../../../system/failpoints.ts";
import type { CommandContext } from "../../command-context.ts";
import { drydockWords, ensuredFolder, openMaking, unitFolder } from "../systemd-units.ts";

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
  using folder = openMaking(POINTS.folder, at);
  writeWhole(POINTS.write, folder, SERVICE, Buffer.from(serviceText(context)));
  writeWhole(POINTS.write, folder, TIMER, Buffer.from(TIMER_TEXT));
  using wants = ensuredFolder(POINTS.folder, folder, WANTS);
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

function serviceText(context: CommandContext): string {
  return `[Unit]
Description=Removes what Drydock left behind

[Service]
Type=oneshot
Nice=10
ExecStart=${drydockWords(context, ["cleanup", "purge"])}
`;
}
