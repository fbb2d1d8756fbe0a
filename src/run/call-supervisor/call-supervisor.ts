import { closeFile } from "../../system/calls/handles.ts";
import { type CallNotice, CallNotices } from "../../system/launch/call-notices.ts";
import { fork } from "../../system/launch/forked-process.ts";
import {
  type Capability,
  filterCalls,
  filterSupervisedCalls,
  keepOnly,
} from "../../system/launch/privileges.ts";
import { numberOf, type SupervisedCall } from "../../system/launch/seccomp-filter.ts";
import { writeLine } from "../../system/launch/streams.ts";
import { passDescriptor } from "../../system/process/passed-descriptor.ts";
import { SUPERVISOR_NAME } from "../../system/process/processes.ts";
import { ConnectGuard } from "./connect-guard.ts";
import { answerToRename } from "./rename-answer.ts";
import type { GuardedServer } from "./server-addresses.ts";

/**
 * The supervisor is a process inside the view, to which the filter of system calls shows some calls of the
 * command. It renames folders that the command's overlays can't (rename-answer.ts), and keeps the command
 * from servers of databases that its plan holds (connect-guard.ts). It has every limit of the command, and no
 * capability but to read what the command gives the kernel, so it can reach nothing that the command can't.
 *
 * A program that has confined itself further (Landlock) must not get by us what it may not do. So after the
 * first such program the supervisor renames nothing more.
 *
 * Calls are served one after another. A supervisor that was killed leaves calls that fail with ENOSYS.
 */
interface Supervision {
  readonly renames: boolean;
  readonly guards: readonly GuardedServer[];
  /** What a supervisor needs to read the memory of the command's processes. */
  readonly keeps: readonly Capability[];
}

const OF_RENAMES: readonly SupervisedCall[] = ["rename", "renameat", "renameat2", "landlock_restrict_self"];
const OF_GUARDS: readonly SupervisedCall[] = ["connect"];

/** A supervisor that is up and waits for the filter. */
export interface WaitingSupervisor {
  readonly calls: readonly SupervisedCall[];
  /** Undefined if it did not come up. */
  readonly socket: number | undefined;
}

/** Starts a supervisor for what is to be supervised, while this process has the rights for it. */
export function startSupervisor({ renames, guards, keeps }: Supervision): WaitingSupervisor {
  const calls = [...(renames ? OF_RENAMES : []), ...(guards.length > 0 ? OF_GUARDS : [])];
  if (calls.length === 0) return { calls, socket: undefined };
  const started = fork(
    SUPERVISOR_NAME,
    () => giveUpRights(keeps),
    (listener, socket) => {
      if (guards.length === 0) closeFile(socket);
      supervise(listener, new ConnectGuard(guards, (line) => writeLine(socket, line)));
    },
  );
  return { calls, socket: started?.socket };
}

/** Installs the filter of system calls. Returns whether the supervisor sees them. */
export function filterWith({ calls, socket }: WaitingSupervisor, mayNestUsers: boolean): boolean {
  const options = { mayNestUsers };
  const listener =
    socket === undefined ? undefined : filterSupervisedCalls({ ...options, supervised: calls });
  // Without a listener the supervisor ends with its socket.
  if (socket === undefined || listener === undefined) filterCalls(options);
  else passDescriptor(socket, listener);
  return listener !== undefined;
}

function giveUpRights(keeps: readonly Capability[]): void {
  keepOnly(keeps);
  filterCalls({ mayNestUsers: false });
}

function supervise(listener: number, guard: ConnectGuard): void {
  const notices = new CallNotices(listener);
  let isConfined = false;
  for (;;) {
    const notice = notices.next();
    if (notice.number === numberOf("landlock_restrict_self")) isConfined = true;
    const errno = answerTo(notice);
    if (errno === undefined) notices.letGo(notice);
    else notices.answer(notice, errno);
  }

  function answerTo(notice: CallNotice): number | undefined {
    if (notice.number === numberOf("connect")) return guard.answerTo(notices, notice);
    return isConfined ? undefined : answerToRename(notices, notice);
  }
}
