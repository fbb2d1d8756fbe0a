import { constants } from "node:fs";

/** Flags of open(2) that Node does not name; they are the same on every processor that it runs on. */

/** No program that we start gets the descriptor. */
export const O_CLOEXEC = 0o2000000;
/** A handle that can do nothing but name what is there, whatever its kind and permissions. */
export const O_PATH = 0o10000000;
/** A file without a name. */
export const O_TMPFILE = 0o20000000 | constants.O_DIRECTORY;
