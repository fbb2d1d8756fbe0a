import { randomBytes } from "node:crypto";
import { fileURLToPath } from "node:url";
import { isThere } from "../../system/data/existence.ts";
import { runProcess } from "../../system/process/run-process.ts";
import { ConformanceFailure } from "../expectation.ts";
import type { StrategyModule } from "../strategy-factory.ts";
import { type Death, encodeCall, type VictimLine, type VictimRequest } from "./victim-protocol.ts";

/** The program of the victim, relative to this module: in the source, in dist/ or in its chunks. */
const PLACES = ["./victim-main.ts", "./victim.js", "../victim.js"];
const LIMIT_MS = 60_000;
/** At most this many failpoints are tried in one call, evenly spread. */
const MOST_FAILPOINTS = 10;
const PARTS_OF_ITS_TIME = [0.3, 0.7];

/** What a process reported until it died or ended. */
export interface VictimEnd {
  readonly lines: readonly VictimLine[];
  readonly wasKilled: boolean;
}

/** Another process that calls a strategy, and can be killed during the call. */
export class Victim {
  readonly #module: StrategyModule;
  readonly #stateDir: string;

  constructor(module: StrategyModule, stateDir: string) {
    this.#module = module;
    this.#stateDir = stateDir;
  }

  /**
   * Calls a method in a process of its own, which dies as told or runs to the end. An error that the method
   * throws fails the case.
   */
  async call(method: string, args: readonly unknown[], death?: Death): Promise<VictimEnd> {
    const mark = `victim ${randomBytes(8).toString("hex")} `;
    const request: VictimRequest = {
      mark,
      module: this.#module,
      stateDir: this.#stateDir,
      method,
      args: encodeCall(args),
      ...(death !== undefined && { death }),
    };
    const { code, stdout, stderr, tookTooLong } = await runProcess(
      {
        file: process.execPath,
        args: [...loadingOptions(), program(), JSON.stringify(request)],
        environment: this.#module.environment ?? {},
      },
      { limitMs: LIMIT_MS },
    );
    if (tookTooLong) throw new ConformanceFailure(`${method} did not end within ${LIMIT_MS / 1000} seconds`);
    const lines = linesOf(stdout.toString(), mark);
    const threw = lines.find((line) => line.kind === "threw");
    if (threw !== undefined)
      throw new ConformanceFailure(`${method} in another process failed: ${threw.message}`);
    const wasKilled = !lines.some((line) => line.kind === "returned");
    if (wasKilled && death === undefined)
      throw new ConformanceFailure(
        `the process that called ${method} ended (${code ?? "by a signal"}): ${stderr}`,
      );
    return { lines, wasKilled };
  }

  /** The moments at which a call can be cut off, from the report of an undisturbed call. */
  momentsOf({ lines }: VictimEnd): readonly Death[] {
    const passed = lines.flatMap((line) =>
      line.kind === "passed" ? [{ ...line, kind: "failpoint" as const }] : [],
    );
    const step = Math.max(1, passed.length / MOST_FAILPOINTS);
    const chosen = Array.from(
      { length: Math.min(passed.length, MOST_FAILPOINTS) },
      (_, at) => passed[Math.floor(at * step)],
    );
    const took = lines.find((line) => line.kind === "returned")?.milliseconds ?? 0;
    return [
      { kind: "start" },
      ...chosen.filter((death) => death !== undefined),
      ...PARTS_OF_ITS_TIME.map((part) => ({ kind: "time" as const, milliseconds: took * part })),
      { kind: "end" },
    ];
  }
}

function program(): string {
  const found = PLACES.map((place) => fileURLToPath(new URL(place, import.meta.url))).find((path) =>
    isThere(path),
  );
  if (found === undefined)
    throw new Error("The program of the conformance suite is missing from this installation.");
  return found;
}

/** Options of this process that decide how modules are found; the victim gets them too. */
function loadingOptions(): readonly string[] {
  return process.execArgv.filter((option) => /^(?:--conditions|-C)=/.test(option));
}

function linesOf(output: string, mark: string): readonly VictimLine[] {
  return output
    .split("\n")
    .filter((line) => line.startsWith(mark))
    .map((line) => JSON.parse(line.slice(mark.length)) as VictimLine);
}
