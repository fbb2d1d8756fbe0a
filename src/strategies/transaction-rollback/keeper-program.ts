import { type OwnProgram, ownProgram } from "../../system/own-program.ts";

const FROM_SOURCE = "../../../node_modules/.cache/drydock-compiled";
const PLACES = [
  { program: "./keeper-main.ts", compiled: FROM_SOURCE },
  { program: "./keeper.js", compiled: "./.compile-cache" },
  { program: "../keeper.js", compiled: "../.compile-cache" },
  { program: "../../../src/strategies/transaction-rollback/keeper-main.ts", compiled: FROM_SOURCE },
];

/** How the process that holds transactions is started. */
export function keeperProgram(): OwnProgram {
  return ownProgram(import.meta.url, PLACES);
}
