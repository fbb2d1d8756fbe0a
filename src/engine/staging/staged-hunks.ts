import { SandboxConflictError, UnsupportedError } from "../../core/errors/errors.ts";
import { baseName, parentPath } from "../../core/paths/byte-path.ts";
import type { Facts } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { closeFile } from "../../system/calls/handles.ts";
import { readXattrs } from "../../system/calls/xattrs.ts";
import { readBytes, writeBytes } from "../../system/data/file-data.ts";
import { failpoint } from "../../system/failpoints.ts";
import { type Slots, slotName } from "../manifest/slots.ts";
import { withHunks } from "../text/hunks.ts";
import { giveMetadata } from "../tree/metadata.ts";
import type { CheckedEntry } from "./checked-entries.ts";
import type { StagingInput } from "./staging-input.ts";

const POINTS = {
  create: failpoint("stage.create-hunks"),
  data: failpoint("stage.write-hunks"),
  metadata: failpoint("stage.hunks-metadata"),
};

/**
 * Puts into the slot the original's file with some hunks of the sandbox's. Mode, owner and attributes are the
 * original's: what else changed stays in the sandbox with the other hunks. The time is the sandbox's.
 */
export function stageHunks(
  { original, sandbox }: StagingInput,
  { entry: { path, after }, before, slot }: CheckedEntry,
  slots: Slots,
  chosen: ReadonlySet<string>,
): void {
  using from = original.openBelow(parentPath(path));
  using work = sandbox.openBelow(parentPath(path));
  const name = baseName(path);
  if (!isSingleFile(before) || !isSingleFile(after)) throw notInHunks(path);
  const content = withHunks(contentOf(from, name), contentOf(work, name), chosen);
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
  const facts = { ...before, mtime: after.mtime, atime: after.atime };
  if (made !== undefined)
    giveMetadata(POINTS.metadata, { folder, name: target }, { facts, xattrs: readXattrs(from, name) }, made);
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

function notInHunks(path: string): UnsupportedError {
  return new UnsupportedError(`${path} can't land in hunks: it is no file, or has several names.`, {
    hint: "Let it land as a whole, or not at all.",
  });
}
