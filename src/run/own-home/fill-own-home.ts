import { relative } from "node:path";
import { baseName, parentPath } from "../../core/paths/byte-path.ts";
import { removeTree } from "../../engine/tree/remove-tree.ts";
import { UPPER } from "../../sandboxes/scratch/scratch-layers.ts";
import { Folder } from "../../system/calls/folder.ts";
import { factsOfPath } from "../../system/data/locations.ts";
import { readWhole } from "../../system/data/whole-file.ts";
import { failpoint } from "../../system/failpoints.ts";
import { expanded } from "../policy/path-rules.ts";
import type { PolicyInForce } from "../policy/policy-in-force.ts";
import { isStrictlyBelow } from "../view/view-mount.ts";
import { MOST_BYTES, makeCopy, type SettingsCopy } from "../write-back/settings-copy.ts";
import { clearCopies } from "../write-back/write-back.ts";
import { readNotes, saveNotes, versionOf, type WriteBackNote } from "../write-back/write-back-record.ts";
import { foldersTo, linkInHome } from "./link-in-home.ts";

/**
 * A home of the plan's own is a scratch layer that stands alone. Folders that the policy names are mounted
 * in it, and a file that a command may replace is copied into it:
 *
 * 1. Copy the user's file beside the layer's `upper`, and flush the copy.
 * 2. Note its version. A rename keeps that.
 * 3. Move it to its place.
 *
 * A file of that version is one that no command has changed: it never takes the place of the user's, and the
 * next command gets a new one.
 */
const POINTS = { fill: failpoint("run.own-home") };
const FRESH = "copied.new";

type OwnHomePolicy = Pick<PolicyInForce, "readable" | "persisted" | "writtenBack">;

/** Puts into it what the policy names. `layer` is the folder of its layer, which must not be mounted. */
export function fillOwnHome(plan: Folder, layer: Folder, home: string, policy: OwnHomePolicy): void {
  using upper = layer.openChild(UPPER);
  // A policy may name a path that leads through a link of the user's home.
  for (const { value, path: to } of [...policy.persisted, ...policy.writtenBack, ...policy.readable]) {
    const path = expanded(value, home);
    if (path === undefined || path === to) continue;
    linkInHome(POINTS.fill, upper, home, { path, to: relative(parentPath(path), to) });
  }
  removeTree(POINTS.fill, layer, FRESH);
  for (const note of readNotes(plan)) if (isStrictlyBelow(note.path, home)) copyIn(plan, layer, home, note);
}

function copyIn(plan: Folder, layer: Folder, home: string, note: WriteBackNote): void {
  const { path } = note;
  const name = baseName(path);
  // An attempt to start the command may have put one here, or into the home that it has without namespaces.
  clearCopies(plan, note);
  using upper = layer.openChild(UPPER);
  using parent = foldersTo(POINTS.fill, upper, path.slice(home.length + 1));
  // What a command made of it stays.
  if (parent === undefined || parent.facts(name) !== undefined) return;
  const source = sourceOf(path);
  if (source === undefined) return;
  const copied = versionOf(makeCopy(POINTS.fill, layer, { name: FRESH, ...source }));
  const notes = readNotes(plan).map((other) => (other.path === path ? { ...other, copied } : other));
  saveNotes(plan, notes);
  layer.replace(POINTS.fill, FRESH, parent, name);
}

/** What the user's file holds; undefined if there is none to copy. */
function sourceOf(path: string): Omit<SettingsCopy, "name"> | undefined {
  if (factsOfPath(parentPath(path))?.kind !== "directory") return undefined;
  using folder = Folder.open(parentPath(path));
  const facts = folder.facts(baseName(path));
  if (facts?.kind !== "file" || facts.size > MOST_BYTES) return undefined;
  const bytes = readWhole(folder, baseName(path));
  const { mode, uid, gid } = facts;
  return bytes && { bytes, mode, ...(process.geteuid?.() === 0 && { owner: { uid, gid } }) };
}
