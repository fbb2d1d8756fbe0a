import { failedWith } from "../../system/calls/errno.ts";
import { RENAME_NOREPLACE } from "../../system/calls/native.ts";
import { type CallNotice, CallNotices } from "../../system/launch/call-notices.ts";
import { fork } from "../../system/launch/forked-process.ts";
import { filterCalls, filterSupervisedCalls, keepOnly } from "../../system/launch/privileges.ts";
import { type FilterOptions, numberOf } from "../../system/launch/seccomp-filter.ts";
import { passDescriptor } from "../../system/process/passed-descriptor.ts";
import { SUPERVISOR_NAME } from "../../system/process/processes.ts";
import { type AskedRename, askedFolder, type OpenName, openNames } from "./asked-rename.ts";
import { moveFolder, rename } from "./folder-move.ts";

/**
 * Renames folders for a command whose overlays can't (user namespaces have no redirects): `git mv`, Node and
 * Python give up where the kernel says EXDEV.
 *
 * The supervisor is a process inside the view. It has every limit of the command and no capability, so it can
 * reach nothing that the command can't. The filter of system calls shows it each rename of the command:
 * - Whatever is no folder, it lets go: the kernel makes the call as if there were no supervisor.
 * - A folder it tries to rename itself. Where the kernel says EXDEV although both names are on one mount, it
 *   moves the folder (folder-move.ts). After any other error it lets the call go, and the kernel answers.
 *
 * A program that has confined itself further (Landlock) must not get by us what it may not do. So after the
 * first such program the supervisor lets everything go.
 *
 * Calls are served one after another. A supervisor that was killed leaves renames that fail with ENOSYS.
 */
/** Installs the filter of system calls, with a supervisor where there can be one. */
export function filterRenames(options: FilterOptions): void {
  const supervisor = fork(SUPERVISOR_NAME, giveUpRights, supervise);
  const listener = supervisor === undefined ? undefined : filterSupervisedCalls(options);
  // Without a listener the supervisor ends with its socket.
  if (supervisor === undefined || listener === undefined) filterCalls(options);
  else passDescriptor(supervisor.socket, listener);
}

function giveUpRights(): void {
  keepOnly([]);
  filterCalls({ mayNestUsers: false });
}

function supervise(listener: number): void {
  const notices = new CallNotices(listener);
  let isConfined = false;
  for (;;) {
    const notice = notices.next();
    if (notice.number === numberOf("landlock_restrict_self")) isConfined = true;
    const errno = isConfined ? undefined : answerTo(notices, notice);
    if (errno === undefined) notices.letGo(notice);
    else notices.answer(notice, errno);
  }
}

/** The error number for a call that was made for the program; undefined if the kernel is to answer. */
function answerTo(notices: CallNotices, notice: CallNotice): number | undefined {
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
