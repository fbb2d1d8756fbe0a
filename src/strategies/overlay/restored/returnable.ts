import { BusyError } from "../../../core/errors/errors.ts";
import { displayPath } from "../../../core/paths/byte-path.ts";
import type { NamedFacts } from "./named-facts.ts";

const OWNER_READS = 0o400;

/**
 * Refuses what without privilege can't come from the original through the mount: a copy of another user's
 * file is ours, and what its own owner may not read is not read.
 */
export function assertCanCome(path: string, { facts }: NamedFacts): void {
  const { kind, uid, gid, mode } = facts;
  const user = process.geteuid?.();
  if (user === 0) return;
  if (uid !== user || gid !== process.getegid?.())
    throw notMeanwhile(path, "belongs to another user or group");
  if (kind === "file" && (mode & OWNER_READS) === 0) throw notMeanwhile(path, "can't be read by its owner");
}

/** Refuses one of several names of a file: what comes in its place would be a file of its own. */
export function assertAlone(path: string, { facts }: NamedFacts): void {
  if (facts.kind !== "directory" && facts.nlink > 1)
    throw notMeanwhile(path, "is one of several names of a file of the original");
}

function notMeanwhile(path: string, why: string): BusyError {
  return new BusyError(
    `The checkpoint can't be restored while commands run: ${displayPath(path)} ${why}, and would come or go.`,
    { holder: "the commands of the plan", hint: "Wait until they have ended, and try again." },
  );
}
