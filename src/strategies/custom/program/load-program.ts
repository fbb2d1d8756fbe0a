import { dirname } from "node:path";
import type { CustomStrategy } from "../../../config/settings.ts";
import { messageOf } from "../../../core/errors/errors.ts";
import { displayPath } from "../../../core/paths/byte-path.ts";
import { isThere } from "../../../system/data/existence.ts";
import { isProgram } from "../../../system/process/programs.ts";
import type { StrategyMaker } from "../../registered-strategy.ts";
import { checkOptions } from "../strategy-options.ts";
import { unavailable } from "../unavailable.ts";
import type { ProgramDescription } from "./program-protocol.ts";
import { programStrategy } from "./program-strategy.ts";
import { RunningProgram } from "./running-program.ts";

/** How long a program may take to say what it is. */
const DESCRIBES_WITHIN_MS = 30_000;
const SPARE_MS = 1000;

type Environment = { readonly [name: string]: string | undefined };

/**
 * Loads a strategy that is a program, `exec:./mine.py`: starts it, so that it says what it is. Every failure
 * is a `StrategyUnavailableError` with the position in the config.
 */
export async function loadProgram(
  declared: CustomStrategy,
  path: string,
  environment: Environment,
): Promise<StrategyMaker> {
  const { name, options } = declared;
  const program = { path, folder: dirname(path), environment: definedOnly(environment) };
  assertCanRun(declared, path);
  const first = new RunningProgram(program);
  const description = await described(declared, first, path);
  const start = startingWith(first, () => new RunningProgram(program));
  const checked = await checkOptions(description.optionsSchema, options ?? {}, (problem) =>
    unavailable(declared, "STRATEGY_OPTIONS", `its options are not what the program takes: ${problem}`, {
      hint: `Correct options: of ${name} in the config.`,
    }),
  );
  return {
    make: (context) => programStrategy({ start, description, options: checked }, context),
    module: { url: `exec:${path}`, className: "", ...(options !== undefined && { options }) },
  };
}

function assertCanRun(declared: CustomStrategy, path: string): void {
  const shown = displayPath(path);
  if (!isThere(path))
    throw unavailable(declared, "STRATEGY_MODULE", `there is no program ${shown}`, {
      hint: `The path is relative to ${displayPath(declared.folder)}. Correct module:, or put the program there.`,
    });
  if (!isProgram(path))
    throw unavailable(declared, "STRATEGY_MODULE", `${shown} can't be run`, {
      hint: `Make it executable: chmod +x ${shown}. A script begins with the line of its interpreter, such as #!/usr/bin/env python3`,
    });
}

async function described(
  declared: CustomStrategy,
  running: RunningProgram,
  path: string,
): Promise<ProgramDescription> {
  const tooLong = setTimeout(
    () => running.stop(`did not say what it is within ${DESCRIBES_WITHIN_MS / 1000} seconds`),
    DESCRIBES_WITHIN_MS,
  );
  try {
    return await running.description;
  } catch (cause) {
    const what = `${displayPath(path)} can't be used: ${messageOf(cause)}`;
    throw unavailable(declared, "STRATEGY_MODULE", what, {
      hint: "See docs/strategies-in-other-languages.md for what it has to write first.",
      cause,
    });
  } finally {
    clearTimeout(tooLong);
  }
}

/** The process that described itself serves the first instance, unless that takes long to come. */
function startingWith(first: RunningProgram, startAnother: () => RunningProgram): () => RunningProgram {
  let spare: RunningProgram | undefined = first;
  const idle = setTimeout(() => {
    spare?.end();
    spare = undefined;
  }, SPARE_MS).unref();
  first.isAwaited = false;
  return () => {
    clearTimeout(idle);
    const taken = spare;
    spare = undefined;
    return taken === undefined || taken.hasEnded ? startAnother() : taken;
  };
}

function definedOnly(environment: Environment): { readonly [name: string]: string } {
  return Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
