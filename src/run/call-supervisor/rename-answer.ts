import { failedWith } from "../../system/calls/errno.ts";
import { RENAME_NOREPLACE } from "../../system/calls/native.ts";
import type { CallNotice, CallNotices } from "../../system/launch/call-notices.ts";
import { type AskedRename, askedFolder, type OpenName, openNames } from "./asked-rename.ts";
import { moveFolder, rename } from "./folder-move.ts";

/**
 * Renames folders for a command whose overlays can't (user namespaces have no redirects): `git mv`, Node and
 * Python give up where the kernel says EXDEV.
 * - Whatever is no folder is let go: the kernel makes the call as if there were no supervisor.
 * - A folder we try to rename ourselves. Where the kernel says EXDEV although both names are on one mount, we
 *   move the folder (folder-move.ts). After any other error the call is let go, and the kernel answers.
 */
/** The error number for a call that was made for the program; undefined if the kernel is to answer. */
export function answerToRename(notices: CallNotices, notice: CallNotice): number | undefined {
  try {
    const asked = askedFolder(notices, notice);
    return asked && renameFor(notices, notice, asked);
  } catch {
    // Whatever prevents us, the kernel then tells the program what it would have told it without us.
    return undefined;
  }
}

function renameFor(notices: CallNotices, notice: CallNotice, asked: AskedRename): number | undefined {
  using opened = new DisposableStack();
  const names = openNames(notice, asked, opened);
  // Until here another process could have had its pid.
  if (names === undefined || !notices.isWaiting(notice)) return undefined;
  const { from, to } = names;
  try {
    rename(from, to, asked.mayReplace ? 0 : RENAME_NOREPLACE);
    return 0;
  } catch (thrown) {
    if (!failedWith(thrown, "EXDEV")) return undefined;
  }
  return isOnOneMount(from, to) ? moveFolder(from, to, asked.mayReplace) : undefined;
}

/** Otherwise EXDEV is the right answer. */
function isOnOneMount(from: OpenName, to: OpenName): boolean {
  const { mountId } = from.folder.ownFacts();
  const others = [from.folder.facts(from.name), to.folder.ownFacts(), to.folder.facts(to.name)];
  return others.every((facts) => facts === undefined || facts.mountId === mountId);
}
