import { join } from "node:path";
import { isThere } from "../data/existence.ts";

/**
 * A possible location of a program of Drydock, relative to the file that starts it, and of Node's compile
 * cache for it.
 */
export interface ProgramLocation {
  readonly program: string;
  readonly compiled: string;
}

/** How to start a program of Drydock. */
export interface OwnProgram {
  /** Its first module. */
  readonly main: string;
  readonly file: string;
  readonly args: readonly string[];
  /**
   * Nothing of the user's environment: no variable may lead to another server, expose a password, or load
   * another module.
   */
  readonly environment: { readonly [name: string]: string };
}

/**
 * Finds a program beside the file that starts it, which is in the folder `from`: in the source, in dist/ or
 * its chunks, or in a bundle of the tests. Node's compile cache is kept beside it, as bin/start.cjs does for
 * the commands, which halves its start.
 */
export function ownProgram(from: string, locations: readonly ProgramLocation[]): OwnProgram {
  const pathOf = (path: string) => join(from, path);
  const found = locations.find(({ program }) => isThere(pathOf(program)));
  if (found === undefined) throw new Error(`${locations[0]?.program} is missing from this installation.`);
  const main = pathOf(found.program);
  return {
    main,
    file: process.execPath,
    args: ["--disable-warning=ExperimentalWarning", main],
    environment: { NODE_COMPILE_CACHE: pathOf(found.compiled) },
  };
}
