import { type Failpoint, passFailpoint } from "./failpoints.ts";
import type { Folder } from "./folder.ts";
import { calls, check, pathPointer } from "./native.ts";

/** Moves a name over another, in one instant. What was there is gone: only for files that we may destroy. */
export function replaceName(point: Failpoint, from: Folder, name: string, to: Folder, over: string): void {
  passFailpoint(point);
  const result = calls.renameat2(from.fd, pathPointer(name), to.fd, pathPointer(over, 1), 0);
  check(result, "rename", `${from.label(name)} to ${to.label(over)}`);
}
