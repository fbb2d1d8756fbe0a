import type { Folder } from "../../system/calls/folder.ts";

/** The folder of a workspace that holds its landings. */
export const LANDINGS = "landings";

/** The ids of all landings in a workspace, the latest first. */
export function landingIds(workspace: Folder): readonly string[] {
  using landings = workspace.openBelowIfThere(LANDINGS);
  return landings?.names().sort().reverse() ?? [];
}
