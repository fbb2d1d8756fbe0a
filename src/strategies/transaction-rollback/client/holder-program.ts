import { type OwnProgram, ownProgram } from "../../../system/process/own-program.ts";

const COMPILED = "node_modules/.cache/drydock-compiled";
/**
 * The paths of the program from this file: in the source, in dist/, in its chunks, and in a bundle of the
 * tests.
 */
const PLACES = [
  { program: "../holder/holder-main.ts", compiled: `../../../../${COMPILED}` },
  { program: "./holder.js", compiled: "./.compile-cache" },
  { program: "../holder.js", compiled: "../.compile-cache" },
  {
    program: "../../../src/strategies/transaction-rollback/holder/holder-main.ts",
    compiled: `../../../${COMPILED}`,
  },
];

/** The program and arguments that start a holder. */
export function holderProgram(): OwnProgram {
  return ownProgram(import.meta.dirname, PLACES);
}
