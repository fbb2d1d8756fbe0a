import { type OwnProgram, ownProgram } from "../../../system/process/own-program.ts";

const COMPILED = "node_modules/.cache/drydock-compiled";
/** Seen from this file in the source, from dist/, from its chunks, and from a bundle of the tests. */
const PLACES = [
  { program: "../holder/holder-main.ts", compiled: `../../../../${COMPILED}` },
  { program: "./holder.js", compiled: "./.compile-cache" },
  { program: "../holder.js", compiled: "../.compile-cache" },
  {
    program: "../../../src/strategies/transaction-rollback/holder/holder-main.ts",
    compiled: `../../../${COMPILED}`,
  },
];

/** How the process that holds transactions is started. */
export function holderProgram(): OwnProgram {
  return ownProgram(import.meta.url, PLACES);
}
