import { statfsSync } from "node:fs";
import type { Folder } from "./folder.ts";

const OVERLAYFS = 0x794c7630;

/** Whether a folder is on an overlay, as the root of most containers is. */
export function isOnOverlay(folder: Folder): boolean {
  return statfsSync(`/proc/self/fd/${folder.fd}`).type === OVERLAYFS;
}
