import { randomBytes } from "node:crypto";
import { failpoint } from "../system/failpoints.ts";
import { cloneData, writeBytes } from "../system/file-data.ts";
import { Folder } from "../system/folder.ts";
import { closeFile } from "../system/handles.ts";
import { removeTree } from "./remove-tree.ts";
import type { Scope } from "./scope.ts";
import { choosePlace } from "./workspace.ts";

const POINT = failpoint("reflink-probe.try");

/** Whether files where the workspace would be can share blocks: tried with two small ones, which are removed however it ends. */
export function canShareBlocks(stateDir: string, scope: Scope): boolean {
  const { path } = choosePlace(stateDir, `reflink-probe-${randomBytes(6).toString("hex")}`, scope);
  using folder = Folder.open(path.slice(0, path.lastIndexOf("/")) || "/");
  const { mtime, atime } = folder.ownFacts();
  const names = [0, 1].map((at) => `.drydock-probe-${randomBytes(6).toString("hex")}-${at}`) as [string, string];
  const opened: number[] = [];
  try {
    for (const name of names) opened.push(folder.createFile(POINT, name, 0o600));
    const [from, to] = opened as [number, number];
    writeBytes(POINT, from, Buffer.alloc(4096, 1), folder.label(names[0]));
    return cloneData(POINT, from, to, folder.label(names[1]));
  } finally {
    for (const fd of opened) closeFile(fd);
    for (const name of names) removeTree(POINT, folder, name);
    folder.setTimes(POINT, ".", { mtime, atime });
  }
}
