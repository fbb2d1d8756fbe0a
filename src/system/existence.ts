import { lstatSync } from "node:fs";
import { bytesFromPath } from "../core/byte-path.ts";

/** Whether there is something at this path that this user can see, a link that leads nowhere included. */
export function isThere(path: string): boolean {
  try {
    lstatSync(bytesFromPath(path));
    return true;
  } catch {
    // Whatever keeps us from seeing it, there is nothing that we could use.
    return false;
  }
}
