import { baseName, isAtOrBelow, parentPath } from "../../core/paths/byte-path.ts";
import { openUpper, type WrittenLayer, writtenLayers } from "../../sandboxes/scratch/scratch-layers.ts";
import { unlessFailed } from "../../system/calls/errno.ts";
import { type Facts, identityKey } from "../../system/calls/facts.ts";
import { Folder } from "../../system/calls/folder.ts";
import { closeFile } from "../../system/calls/handles.ts";
import { readBytes } from "../../system/data/file-data.ts";
import { factsOfPath } from "../../system/data/locations.ts";
import { failpoint } from "../../system/failpoints.ts";
import { MOST_BYTES, makeCopy } from "./settings-copy.ts";
import { readNotes, saveNotes, versionOf, type WriteBackNote } from "./write-back-record.ts";

/**
 * Single files of the home that programs replace by a rename, as they save their settings. They can't be
 * shared while a program runs, so a command writes to the scratch layer, and the file takes the place of the
 * user's afterwards, unless that has changed meanwhile:
 *
 * 1. Before the command, note the version of the user's file.
 * 2. Afterwards, make its folder if the user has none, as the command did. Copy the command's file beside the
 *    user's, flush it, and note its identity.
 * 3. Exchange the two names. The user's file now has the other name: if it is not the version noted, exchange
 *    them again.
 * 4. Remove the file with the other name, and the command's in the scratch layer, so that the next command
 *    begins with the user's.
 *
 * A crash in between is settled by the next start, which finds both files and the note.
 */
const POINTS = {
  folder: failpoint("run.write-back-folder"),
  copy: failpoint("run.write-back-copy"),
  exchange: failpoint("run.write-back-exchange"),
  clear: failpoint("run.write-back-clear"),
};

/** Notes the versions of these files. No command runs in the plan. */
export function noteVersions(plan: Folder, paths: readonly string[]): void {
  const known = readNotes(plan);
  const notes = paths.flatMap((path): readonly WriteBackNote[] => {
    const before = known.find((note) => note.path === path);
    // What an earlier command wrote is still in the layer: it began with the earlier version.
    if (before !== undefined && writtenAt(plan, before) !== undefined) return [before];
    const facts = factsOfPath(path);
    const note = { path, ...(before?.copied !== undefined && { copied: before.copied }) };
    if (facts === undefined) return [note];
    return facts.kind === "file" ? [{ ...note, base: versionOf(facts) }] : [];
  });
  if (JSON.stringify(notes) !== JSON.stringify(known)) saveNotes(plan, notes);
}

/** A path whose file stays in the plan, and why. */
export interface KeptBack {
  readonly path: string;
  readonly why: "changed" | "no folder";
}

/**
 * Puts the command's files in the place of the user's. Returns the paths at which that can't be: the user's
 * file has changed since, or what is there is no folder. No command runs in the plan.
 */
export function writeBack(plan: Folder): readonly KeptBack[] {
  return readNotes(plan).flatMap((note) => {
    const why = putBack(plan, note);
    return why === undefined ? [] : [{ path: note.path, why }];
  });
}

/** Removes copies that no command has changed. */
export function clearCopies(plan: Folder, note: WriteBackNote): void {
  for (const found of layersWith(plan, note.path)) if (isCopy(found, note)) clear(found);
}

/** Returns why that can't be. */
function putBack(plan: Folder, note: WriteBackNote): KeptBack["why"] | undefined {
  const { path } = note;
  clearCopies(plan, note);
  const name = baseName(path);
  const aside = `.${name}.drydock-${baseName(plan.path)}`;
  using known = openIfFolder(parentPath(path));
  if (known !== undefined) settle(known, name, aside, note);
  const written = writtenAt(plan, note);
  if (written === undefined) return undefined;
  // The folder was there with the file, and others have removed it since.
  if (known === undefined && note.base !== undefined) return "changed";
  using made = known === undefined ? folderAsInPlan(written) : undefined;
  const folder = known ?? made;
  if (folder === undefined) return "no folder";
  if (isFresh(folder.facts(name), note)) {
    clear(written);
    return undefined;
  }
  if (!isAsNoted(folder.facts(name), note)) return "changed";
  const copy = { name: aside, bytes: contentOf(written), mode: written.facts.mode };
  const fresh = identityKey(makeCopy(POINTS.copy, folder, copy));
  saveNotes(plan, [...readNotes(plan).filter((other) => other.path !== path), { ...note, fresh }]);
  if (!exchanged(folder, name, aside, note)) return "changed";
  clear(written);
  return undefined;
}

function openIfFolder(path: string): Folder | undefined {
  return factsOfPath(path)?.kind === "directory" ? Folder.open(path) : undefined;
}

/**
 * Opens the folder of a file, and makes what is missing of it as the command did; undefined if something
 * else is in the way.
 */
function folderAsInPlan({ layer, storedAt }: Written): Folder | undefined {
  let folder = openIfFolder(layer.at);
  using upper = openUpper(layer);
  for (let at = storedAt.indexOf("/"); at >= 0; at = storedAt.indexOf("/", at + 1)) {
    using outer = folder;
    const path = storedAt.slice(0, at);
    const name = baseName(path);
    if (outer !== undefined && outer.facts(name) === undefined) {
      using like = upper.openBelow(path);
      const mode = like.ownFacts().mode & 0o777;
      unlessFailed(["EEXIST"], () => outer.createFolder(POINTS.folder, name, mode));
    }
    if (outer?.facts(name)?.kind !== "directory") return undefined;
    folder = outer.openChild(name);
  }
  return folder;
}

/** Ends what a crash cut off between the copy and the end of the exchange. */
function settle(folder: Folder, name: string, aside: string, { base, fresh }: WriteBackNote): void {
  const left = folder.facts(aside);
  if (left === undefined) return;
  const isOurs = identityKey(left) === fresh || fresh === undefined;
  const isReplaced = !isOurs && versionOf(left) === base;
  // The exchange met another version, and was not taken back yet.
  if (!isOurs && !isReplaced) folder.exchange(POINTS.exchange, aside, folder, name);
  folder.removeFile(POINTS.clear, aside);
}

function exchanged(folder: Folder, name: string, aside: string, { base }: WriteBackNote): boolean {
  if (base === undefined) {
    // Fails if there is a file by now.
    if (folder.facts(name) === undefined) folder.move(POINTS.exchange, aside, folder, name);
    else folder.removeFile(POINTS.clear, aside);
    return folder.facts(aside) === undefined;
  }
  const isSwapped = folder.replaceByExchange(POINTS.exchange, aside, folder, name);
  if (!isSwapped) return true;
  const old = folder.facts(aside);
  const isRight = old !== undefined && versionOf(old) === base;
  if (!isRight) folder.exchange(POINTS.exchange, aside, folder, name);
  folder.removeFile(POINTS.clear, aside);
  return isRight;
}

/** Whether the command's file is there already: a crash came before the end of step 4. */
function isFresh(facts: Facts | undefined, { fresh }: WriteBackNote): boolean {
  return facts !== undefined && identityKey(facts) === fresh;
}

function isAsNoted(facts: Facts | undefined, { base }: WriteBackNote): boolean {
  return facts === undefined ? base === undefined : facts.kind === "file" && versionOf(facts) === base;
}

/** What a command wrote at a path of the machine. */
interface Written {
  readonly layer: WrittenLayer;
  readonly storedAt: string;
  readonly facts: Facts;
}

function writtenAt(plan: Folder, note: WriteBackNote): Written | undefined {
  return layersWith(plan, note.path).find((found) => !isCopy(found, note));
}

/** Whether it is the copy that Drydock put into a home of the plan's own, and no command has changed it. */
function isCopy({ facts }: Written, { copied }: WriteBackNote): boolean {
  return versionOf(facts) === copied;
}

/** The file at a path in the innermost layers around it. A plan can have several for one home. */
function layersWith(plan: Folder, path: string): readonly Written[] {
  const around = writtenLayers(plan).filter(({ at }) => isAtOrBelow(path, at));
  const longest = Math.max(...around.map(({ at }) => at.length));
  return around
    .filter(({ at }) => at.length === longest)
    .flatMap((layer): readonly Written[] => {
      const storedAt = path.slice(layer.at.length + 1);
      using upper = openUpper(layer);
      const facts = upper.factsBelow(storedAt);
      return facts?.kind === "file" && facts.size <= MOST_BYTES ? [{ layer, storedAt, facts }] : [];
    });
}

function contentOf({ layer, storedAt }: Written): Uint8Array {
  using upper = openUpper(layer);
  using parent = upper.openBelow(parentPath(storedAt));
  const fd = parent.openFile(baseName(storedAt));
  try {
    return readBytes(fd, parent.label(baseName(storedAt)));
  } finally {
    closeFile(fd);
  }
}

function clear({ layer, storedAt }: Written): void {
  using upper = openUpper(layer);
  using parent = upper.openBelow(parentPath(storedAt));
  parent.removeFile(POINTS.clear, baseName(storedAt));
}
