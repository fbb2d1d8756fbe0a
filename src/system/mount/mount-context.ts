import { SystemCallError } from "../../core/errors/errors.ts";
import { systemCallError } from "../calls/errno.ts";
import { calls, check, cString, lastErrno, PinnedBuffer } from "../calls/native.ts";

/**
 * A file system that is being configured and is not attached yet (fsopen, Linux 5.2). Closing its descriptor
 * ends it.
 */
export const MOVE_MOUNT = 429;
const FSOPEN = 430;
export const FSCONFIG = 431;
const FSMOUNT = 432;
const CLOSE_ON_EXEC = 1;
export const SET_FLAG = 0;
export const SET_STRING = 1;
export const SET_FD = 5;
export const CREATE = 6;
export const MOVE_BOTH_EMPTY = 0x04 | 0x40;

/** Opens a context; negative if this kernel can't, or this process may not. */
export function openContext(type: string): number {
  return calls.fsopen(FSOPEN, cString(type), CLOSE_ON_EXEC);
}

/** Makes a mount of the configured file system. */
export function mountOf(context: number, attributes: number, label: string): number {
  return check(calls.fsmount(FSMOUNT, context, CLOSE_ON_EXEC, attributes), "mount", label);
}

/** Gives a context a setting, or a command without one. `label` is what errors call the mount. */
export function configure(
  { context, label }: { readonly context: number; readonly label: string },
  command: number,
  key: string | null = null,
  value: string | null = null,
): void {
  const [keyBytes, valueBytes] = [key === null ? null : cString(key), value === null ? null : cString(value)];
  if (calls.fsconfig(FSCONFIG, context, command, keyBytes, valueBytes, 0) < 0)
    throw explained(context, label);
}

const LOOK_IN_LOG = "refused, the kernel log says why";

/** The error of the last call, with the kernel's own message from the context. */
export function explained(context: number, label: string): SystemCallError {
  const error = systemCallError(lastErrno(), "mount", label);
  const words = kernelMessages(context).join("; ");
  if (words !== "") return new SystemCallError(error.code, "mount", error.path, words);
  return error.code === "EINVAL" ? new SystemCallError("EINVAL", "mount", error.path, LOOK_IN_LOG) : error;
}

let messageBuffer: PinnedBuffer | undefined;

/** Each read gives one message, like "e overlay: No such thing"; it fails when there are no more. */
function kernelMessages(context: number): string[] {
  messageBuffer ??= new PinnedBuffer(4096);
  const { bytes, address } = messageBuffer;
  const messages: string[] = [];
  for (let length = 0; ; ) {
    length = calls.read(context, address, bytes.length);
    if (length <= 0) return messages;
    messages.push(
      bytes
        .toString("utf8", 0, length)
        .replace(/^[ewi] /, "")
        .trim(),
    );
  }
}
