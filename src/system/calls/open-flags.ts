import { constants } from "node:fs";

/** Flags of open(2) that Node does not define; they are the same on every processor that Node supports. */

/** Programs that we start do not inherit the descriptor. */
export const O_CLOEXEC = 0o2000000;
/** A handle that only names an entry, whatever its kind and permissions. */
export const O_PATH = 0o10000000;
/** A file without a name. */
export const O_TMPFILE = 0o20000000 | constants.O_DIRECTORY;
