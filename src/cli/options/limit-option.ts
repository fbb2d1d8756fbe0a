import type { Command } from "commander";
import { parseDuration } from "../../config/duration.ts";
import { parseSize } from "../../config/size.ts";
import { UsageError } from "../../core/errors/errors.ts";
import { displayPath } from "../../core/paths/byte-path.ts";
import { LIMIT_NAMES, type Limits } from "../../core/values/limits.ts";

/** Adds the repeatable option `--limit NAME=VALUE` to a command. */
export function addLimitOption(command: Command): Command {
  return command.option(
    "--limit <limit>",
    "processes=NUMBER, memory=SIZE, scratch=SIZE or time=DURATION that the command may use, repeatable",
    (value: string, before: Limits = {}) => ({ ...before, ...parseLimit(value) }),
  );
}

/** Reads one value of `--limit`. */
function parseLimit(text: string): Limits {
  const [, given, value = ""] = /^([^=]*)=(.*)$/s.exec(text) ?? [];
  const name = LIMIT_NAMES.find((known) => known === given);
  if (name === undefined) throw notALimit(text);
  if (name === "processes") return { processes: parseCount(value, text) };
  return { [name]: name === "time" ? parseDuration(value) : parseSize(value) };
}

function parseCount(value: string, text: string): number {
  if (!/^[1-9][0-9]{0,6}$/.test(value)) throw notALimit(text);
  return Number(value);
}

function notALimit(text: string): UsageError {
  return new UsageError(`'${displayPath(text)}' is not a limit.`, {
    hint: "Write --limit processes=100, --limit memory=512m, --limit scratch=2g or --limit time=10m.",
  });
}
