import { HOME_LABEL, noteLayer, UPPER } from "../../sandboxes/scratch/scratch-layers.ts";
import { SCRATCH } from "../../sandboxes/scratch/scratch-place.ts";
import { Folder } from "../../system/calls/folder.ts";
import { failpoint } from "../../system/failpoints.ts";
import { linkInHome } from "../own-home/link-in-home.ts";
import type { PolicyInForce } from "../policy/policy-in-force.ts";

/**
 * The layers of the plan's scratch (sandboxes/scratch/scratch-layers.ts) that stand for the home and for
 * temporary folders where nothing can be mounted over these. Variables lead to them.
 */
const HOME_LAYER = `${HOME_LABEL}-private`;
const TEMPORARY_LAYER = "tmp-private";
const TEMPORARY = "/tmp";

const POINTS = { make: failpoint("run.private") };
/** Folders of the home in which programs keep their settings. Files there can be read by links, too. */
const SETTINGS = [".config", ".ssh", ".gnupg"];

/** Where a command may write beside the resources. */
export interface PrivateFolders {
  readonly home: string;
  readonly temporary: string;
}

/** Makes the private folders of a plan, or finds those that an earlier command used. */
export async function privateFolders(
  plan: Folder,
  home: string | undefined,
  policy: Pick<PolicyInForce, "ownHome" | "readable" | "persisted" | "writtenBack" | "caches">,
): Promise<PrivateFolders> {
  using scratch = plan.ensureFolder(POINTS.make, SCRATCH);
  const { ownHome, persisted, caches } = policy;
  using own = ensureUpper(scratch, HOME_LAYER, home ?? "/");
  using temporary = ensureUpper(scratch, TEMPORARY_LAYER, TEMPORARY);
  if (home !== undefined) {
    if (ownHome === undefined) linkSettings(own, home);
    const shown = ownHome === undefined ? persisted : [...persisted, ...policy.readable];
    for (const { path } of shown) linkInHome(POINTS.make, own, home, { path, to: path });
    for (const { path, stored: to } of caches.shared) linkInHome(POINTS.make, own, home, { path, to });
  }
  if (ownHome !== undefined) {
    const { fillOwnHome } = await import("../own-home/fill-own-home.ts");
    using layer = scratch.openChild(HOME_LAYER);
    fillOwnHome(plan, layer, ownHome.path, policy);
  }
  return { home: own.path, temporary: temporary.path };
}

function ensureUpper(scratch: Folder, name: string, at: string): Folder {
  using layer = scratch.ensureFolder(POINTS.make, name);
  noteLayer(POINTS.make, layer, at);
  return layer.ensureFolder(POINTS.make, UPPER);
}

/** Links to hidden files and to folders of settings, which can be read through them and not written. */
function linkSettings(own: Folder, path: string): void {
  using home = Folder.open(path);
  for (const name of home.names().filter((each) => each.startsWith("."))) {
    const kind = home.facts(name)?.kind;
    const isSetting = kind === "file" || (kind === "directory" && SETTINGS.includes(name));
    if (isSetting && own.facts(name) === undefined) own.createLink(POINTS.make, name, `${path}/${name}`);
  }
}
