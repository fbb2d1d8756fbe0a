import { fsyncSync } from "node:fs";
import { type Failpoint, passFailpoint } from "./failpoints.ts";

/** Makes the content of one file durable; that it has a name is another matter. For what takes the place of something that must not be lost. */
export function flushFile(point: Failpoint, fd: number): void {
  if (passFailpoint(point) !== "skip") fsyncSync(fd);
}
