import { displayPath } from "../../core/paths/byte-path.ts";
import type { Folder } from "../../system/calls/folder.ts";
import type { PathLine } from "../policy/path-rules.ts";
import type { KeptBack } from "./write-back.ts";
import { hasNotes } from "./write-back-record.ts";

const WHY: { readonly [why in KeptBack["why"]]: string } = {
  changed: "changed while the command ran",
  "no folder": "can't be put back, because something else is where its folder would be",
};

/** Notes the files that a command may replace for good. `plan` is its folder; no other command runs there. */
export async function beforeCommand(plan: Folder, lines: readonly PathLine[]): Promise<void> {
  if (lines.length === 0 && !hasNotes(plan)) return;
  const { noteVersions } = await import("./write-back.ts");
  noteVersions(
    plan,
    lines.map(({ path }) => path),
  );
}

/** Puts them in the place of the user's. Returns a sentence for each that has to stay in the plan. */
export async function afterCommand(plan: Folder): Promise<readonly string[]> {
  if (!hasNotes(plan)) return [];
  const { writeBack } = await import("./write-back.ts");
  return writeBack(plan).map(
    ({ path, why }) => `${displayPath(path)} ${WHY[why]}; what the command made of it is in the plan.`,
  );
}
