import { fileURLToPath } from "node:url";
import { isThere } from "../../system/existence.ts";

/**
 * Where the keeper's program is, seen from where this is: in the source, in dist/ or its chunks, or in a bundle of the tests; and where what Node
 * has compiled of it is kept, which halves its start: beside the program, as bin/start.cjs has it for the commands.
 */
const PLACES = [
  { program: "./keeper-main.ts", compiled: "../../../node_modules/.cache/drydock-compiled" },
  { program: "./keeper.js", compiled: "./.compile-cache" },
  { program: "../keeper.js", compiled: "../.compile-cache" },
  {
    program: "../../../src/strategies/transaction-rollback/keeper-main.ts",
    compiled: "../../../node_modules/.cache/drydock-compiled",
  },
];

/** How the keeper is started. */
export interface KeeperProgram {
  readonly file: string;
  readonly args: readonly string[];
  readonly environment: { readonly [name: string]: string };
}

export function keeperProgram(): KeeperProgram {
  const pathOf = (place: string) => fileURLToPath(new URL(place, import.meta.url));
  const found = PLACES.find(({ program }) => isThere(pathOf(program)));
  if (found === undefined) throw new Error("The program that holds transactions is missing from this installation.");
  return {
    file: process.execPath,
    args: ["--disable-warning=ExperimentalWarning", pathOf(found.program)],
    // Nothing of the user's: a variable of his must not lead to another server, nor tell a password.
    environment: { NODE_COMPILE_CACHE: pathOf(found.compiled) },
  };
}
