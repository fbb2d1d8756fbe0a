import { closeSync, constants, fsyncSync, openSync, unlinkSync, writeFileSync } from "node:fs";
import { bytesFromPath } from "../core/byte-path.ts";
import { systemCallError } from "./errno.ts";
import { type Failpoint, passFailpoint } from "./failpoints.ts";

/** Makes a text file where nothing is yet. Whatever is there stays, a link that leads nowhere included: the failure is EEXIST. */
export function createTextFile(point: Failpoint, path: string, text: string): void {
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
  passFailpoint(point);
  const fd = guarded("create", path, () =>
    openSync(bytesFromPath(path), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o644),
  );
  try {
    passFailpoint(point);
    guarded("write", path, () => writeFileSync(fd, text));
    guarded("fsync", path, () => fsyncSync(fd));
  } catch (thrown) {
    // It is ours, made a moment ago, and half of it is worth nothing.
    guarded("unlink", path, () => unlinkSync(bytesFromPath(path)));
    throw thrown;
  } finally {
    closeSync(fd);
  }
}

/** Turns Node's error for a failed system call into ours. */
function guarded<T>(call: string, path: string, action: () => T): T {
  try {
    return action();
  } catch (thrown) {
    const errno = thrown instanceof Error && "errno" in thrown ? thrown.errno : undefined;
    throw typeof errno === "number" ? systemCallError(-errno, call, path) : thrown;
  }
}
