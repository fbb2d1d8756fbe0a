import { UnsupportedError } from "../../core/errors/errors.ts";

/**
 * Far beyond what people make, and far below what a walk can take: a walk holds a handle and a stack frame
 * for each folder above.
 */
const MOST_FOLDERS = 1000;
const NAMES_SHOWN = 5;

/** Refuses a folder that is too deep. A hostile program can make folders deeper than any stack. */
export function assertNotTooDeep(path: string): void {
  // The length of the shortest path that is too deep, with names of one character. Nearly all paths are
  // shorter.
  if (path.length < 2 * MOST_FOLDERS) return;
  const names = path.split("/");
  if (names.length <= MOST_FOLDERS) return;
  throw new UnsupportedError(
    `The folder ${names.slice(0, NAMES_SHOWN).join("/")}/… is more than ${MOST_FOLDERS.toLocaleString("en")} folders deep.`,
    { hint: "Remove it or make it flatter, in the sandbox if it is the plan's; or cancel the plan." },
  );
}
