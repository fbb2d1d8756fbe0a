import { fileURLToPath } from "node:url";
import { isThere } from "../data/existence.ts";

/**
 * Where a program of ours may be, seen from who starts it, and where what Node has compiled of it is kept.
 */
export interface ProgramLocation {
  readonly program: string;
  readonly compiled: string;
}

/** How a program of ours is started. */
export interface OwnProgram {
  readonly file: string;
  readonly args: readonly string[];
  /**
   * Nothing of the user's: a variable of his must not lead to another server, tell a password, or have
   * another module loaded.
   */
  readonly environment: { readonly [name: string]: string };
}

/**
 * A program beside who starts it: in the source, in dist/ or its chunks, or in a bundle of the tests. What
 * Node has compiled of it is kept beside it, as bin/start.cjs has it for the commands, which halves its
 * start. `from` is the URL of who starts it.
 */
export function ownProgram(from: string, locations: readonly ProgramLocation[]): OwnProgram {
  const pathOf = (path: string) => fileURLToPath(new URL(path, from));
  const found = locations.find(({ program }) => isThere(pathOf(program)));
  if (found === undefined) throw new Error(`${locations[0]?.program} is missing from this installation.`);
  return {
    file: process.execPath,
    args: ["--disable-warning=ExperimentalWarning", pathOf(found.program)],
    environment: { NODE_COMPILE_CACHE: pathOf(found.compiled) },
  };
}
