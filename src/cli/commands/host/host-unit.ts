import { resolve } from "node:path";
import { nearestConfig } from "../../../config/nearest-config.ts";
import { UsageError } from "../../../core/errors/errors.ts";
import { writeWhole } from "../../../system/data/whole-file.ts";
import { failpoint } from "../../../system/failpoints.ts";
import type { CommandContext } from "../../command-context.ts";
import { drydockWords, ensuredFolder, openMaking, unitFolder } from "../systemd-units.ts";

const POINTS = {
  folder: failpoint("host-unit.folder"),
  write: failpoint("host-unit.write"),
  enable: failpoint("host-unit.enable"),
};
const UNIT = "drydock-host.service";

/**
 * Writes and enables the unit of systemd that serves this host. It names the config, because a service has no
 * folder of its own. The file is written whole; the link that enables it comes last.
 */
export function installHost(
  context: CommandContext,
  isSystem: boolean,
): { readonly folder: string; readonly unit: string } {
  const folder = unitFolder(context, isSystem);
  const text = unitText(context, isSystem);
  using units = openMaking(POINTS.folder, folder);
  writeWhole(POINTS.write, units, UNIT, Buffer.from(text));
  using wants = ensuredFolder(POINTS.folder, units, wantsOf(isSystem));
  if (wants.facts(UNIT) === undefined) wants.createLink(POINTS.enable, UNIT, `../${UNIT}`);
  return { folder, unit: UNIT };
}

function wantsOf(isSystem: boolean): string {
  return isSystem ? "multi-user.target.wants" : "default.target.wants";
}

function unitText(context: CommandContext, isSystem: boolean): string {
  const given = context.options.config ?? context.environment["DRYDOCK_CONFIG"];
  const config = given === undefined ? nearestConfig(context.cwd) : resolve(context.cwd, given);
  if (config === undefined)
    throw new UsageError("There is no drydock.yaml that names a fleet.", {
      hint: "Name it by --config, or run this in its folder.",
      code: "NO_CONFIG",
    });
  const words = drydockWords(context, ["--config", config, "host", "start"]);
  return `[Unit]
Description=Serves a fleet of Drydock as this host
${isSystem ? "Wants=network-online.target\nAfter=network-online.target\n" : ""}
[Service]
ExecStart=${words}
Restart=on-failure
RestartSec=2

[Install]
WantedBy=${isSystem ? "multi-user.target" : "default.target"}
`;
}
