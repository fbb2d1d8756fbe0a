import type { CommanderError } from "commander";
import { UsageError } from "../core/errors/errors.ts";
import { nearestName } from "../core/values/nearest-name.ts";
import { oneLine } from "./terminal/printable.ts";

/** Our error for arguments that commander refuses: "error: unknown option '--al'\n(Did you mean --all?)". */
export function usageErrorFrom(refusal: CommanderError, command: string): UsageError {
  const [first = "", suggestion = ""] = refusal.message.replace(/^error: /, "").split("\n(");
  const isTooMany = refusal.code === "commander.excessArguments";
  const advice = isTooMany ? INSTEAD_OF_ARGUMENTS[command] : suggestion.replace(/\)$/, "");
  const help = `'${command} --help' shows what it takes.`;
  return new UsageError(sentence(oneLine(first)), {
    hint: advice === undefined || advice === "" ? help : `${advice} ${help}`,
  });
}

/** Advice for commands that users often call with arguments that they do not take. */
const INSTEAD_OF_ARGUMENTS: { readonly [command: string]: string } = {
  "drydock plan create": "Say what the plan may change with --resource.",
};

/** Our error for an unknown command, worded like commander's. */
export function unknownCommandError(name: string, group: string, names: readonly string[]): UsageError {
  const nearest = nearestName(name, names);
  const advice = nearest === undefined ? "" : `Did you mean ${nearest}? `;
  return new UsageError(`Unknown command '${oneLine(name)}'.`, {
    hint: `${advice}'${group} --help' shows what it takes.`,
  });
}

/** Our error for a group of commands, such as `drydock plan`, without a command. */
export function missingCommandError(command: string, names: readonly string[]): UsageError {
  return new UsageError(`A command is missing after '${command}'.`, {
    hint: `It is one of ${names.join(", ")}; '${command} --help' says what they do.`,
  });
}

function sentence(text: string): string {
  const ended = text.endsWith(".") ? text : `${text}.`;
  return ended.charAt(0).toUpperCase() + ended.slice(1);
}
