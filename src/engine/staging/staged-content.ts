import { SandboxConflictError } from "../../core/errors/errors.ts";
import { baseName, parentPath } from "../../core/paths/byte-path.ts";
import type { Facts } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { closeFile } from "../../system/calls/handles.ts";
import { readXattrs } from "../../system/calls/xattrs.ts";
import { readBytes, writeBytes } from "../../system/data/file-data.ts";
import { failpoint } from "../../system/failpoints.ts";
import type { ChosenContent } from "../checks/chosen-part.ts";
import { type Slots, slotName } from "../manifest/slots.ts";
import { withHunks } from "../text/hunks.ts";
import { giveMetadata } from "../tree/metadata.ts";
import type { CheckedEntry } from "./checked-entries.ts";
import { notInPart } from "./not-in-part.ts";
import type { StagingInput } from "./staging-input.ts";

const POINTS = {
  create: failpoint("stage.create-hunks"),
  data: failpoint("stage.write-hunks"),
  metadata: failpoint("stage.hunks-metadata"),
};

/**
 * Puts into the slot what lands of a file that does not land as the sandbox has it. Mode, owner and
 * attributes of a file that the original has stay the original's: what else changed stays in the sandbox. The
 * time is the sandbox's.
 */
export function stageContent(
  { original, sandbox, rules }: StagingInput,
  { entry: { path, after }, before, slot }: CheckedEntry,
  slots: Slots,
  chosen: ChosenContent,
): void {
  using from = original.openBelow(parentPath(path));
  using work = sandbox.openBelow(parentPath(path));
  const name = baseName(path);
  if (!isSingleFile(after)) throw notInPart(path);
  const isNew = before === undefined;
  if (!isNew && !isSingleFile(before)) throw notInPart(path);
  if (isNew && "hunks" in chosen) throw notInPart(path);
  const content =
    "bytes" in chosen ? chosen.bytes : withHunks(contentOf(from, name), contentOf(work, name), chosen.hunks);
  if (content === undefined)
    throw new SandboxConflictError([], {
      message: `${path} has other hunks now than those that were chosen.`,
      code: "DIGEST_DIFFERS",
    });
  const [folder, target] = [slots.in(slot), slotName(slot)];
  const fd = folder.createFile(POINTS.create, target, 0o600);
  try {
    writeBytes(POINTS.data, fd, content, folder.label(target));
  } finally {
    closeFile(fd);
  }
  const made = folder.facts(target);
  const metadata = isNew
    ? {
        facts: { ...after, mode: rules.mode(path, after) },
        xattrs: rules.xattrs(path, readXattrs(work, name)),
      }
    : { facts: { ...before, mtime: after.mtime, atime: after.atime }, xattrs: readXattrs(from, name) };
  if (made !== undefined) giveMetadata(POINTS.metadata, { folder, name: target }, metadata, made);
}

/** A file with several names would land as two. */
function isSingleFile(facts: Facts | undefined): facts is Facts {
  return facts?.kind === "file" && facts.nlink === 1;
}

function contentOf(folder: Folder, name: string): Buffer {
  const fd = folder.openFile(name);
  try {
    return readBytes(fd, folder.label(name));
  } finally {
    closeFile(fd);
  }
}
