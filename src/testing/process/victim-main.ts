import { basename, dirname } from "node:path";
import { programPathOf } from "../../config/trust/module-location.ts";
import type { StrategyContext } from "../../core/strategy.ts";
import { loadProgram } from "../../strategies/custom/program/load-program.ts";
import { Folder } from "../../system/calls/folder.ts";
import { createWhole } from "../../system/data/whole-file.ts";
import type { Failpoint } from "../../system/failpoints.ts";
import { suiteContext } from "../suite-context.ts";
import { sharedTime } from "./shared-time.ts";
import { decodeCall, type VictimLine, type VictimRequest } from "./victim-protocol.ts";

/**
 * The process that dies: it makes an instance of a strategy, calls one method of it, and kills itself when it
 * is told to.
 */

/** The failpoint of the suite's own steps; it is not in Drydock's list. */
const POINT = "conformance.victim" as Failpoint;
const request = JSON.parse(process.argv[2] ?? "") as VictimRequest;
const passes = new Map<string, number>();

const { death } = request;
void live();

async function live(): Promise<void> {
  const strategy = await makeStrategy();
  const began = performance.now();
  if (death?.kind === "time") setTimeout(die, death.milliseconds);
  if (death?.kind === "start") setImmediate(die);
  try {
    const value = await strategy[request.method]?.(...decodeCall(request.args));
    if (death?.kind === "end") die();
    say({ kind: "returned", value: value ?? null, milliseconds: performance.now() - began });
  } catch (thrown) {
    say({
      kind: "threw",
      message: thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown),
    });
  }
  // Exit although a timer or a handle of the strategy may be open.
  process.exit(0);
}

interface AnyStrategy {
  readonly [method: string]: (...args: readonly unknown[]) => Promise<unknown>;
}

async function makeStrategy(): Promise<AnyStrategy> {
  const { url, className, options, environment = {} } = request.module;
  const program = programPathOf({ module: url, folder: "/" });
  if (program !== undefined) {
    const declared = { name: url, module: url, className, limitMilliseconds: 0, folder: "/", place: "suite" };
    const maker = await loadProgram(
      { ...declared, ...(options !== undefined && { options }) },
      program,
      environment,
    );
    return maker.make(context()) as unknown as AnyStrategy;
  }
  const exports = (await import(url)) as { readonly [name: string]: unknown };
  const Strategy = exports[className] as new (context: StrategyContext, options: unknown) => AnyStrategy;
  return new Strategy(context(), options ?? {});
}

function context(): StrategyContext {
  const recordIntent: StrategyContext["recordIntent"] = async (ref, places) =>
    say({ kind: "intent", ref, places });
  return suiteContext(request.stateDir, recordIntent, { failpoint: pass });
}

function pass(name: string): void {
  const nth = (passes.get(name) ?? 0) + 1;
  passes.set(name, nth);
  const isHere = death !== undefined && "name" in death && death.name === name && death.pass === nth;
  if (isHere && death.kind === "failpoint") die();
  if (isHere && death.kind === "request") writePid(death.file);
  say({ kind: "passed", name, pass: nth, at: sharedTime() });
}

/** Writes this process's id to a new file. */
function writePid(file: string): void {
  using folder = Folder.open(dirname(file));
  createWhole(POINT, folder, basename(file), String(process.pid));
}

/** Dies without a chance to clean up, as in a crash. */
function die(): void {
  process.kill(process.pid, "SIGKILL");
  // Nothing may happen between the signal and the end.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}

/** Writes synchronously: a line in the pipe survives the death of this process. */
function say(line: VictimLine): void {
  process.stdout.write(`\n${request.mark}${JSON.stringify(line)}\n`);
}
