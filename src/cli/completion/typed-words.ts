import type { Argument, Command, Option } from "commander";
import { Command as NewCommand } from "commander";
import type { CommandContext } from "../command-context.ts";
import type { CommandEntry } from "../command-entry.ts";
import { addGlobalOptions } from "../global-options.ts";

/** What may stand where the cursor is. */
export type Expected =
  /** The name of a command of this group, or one of its options. */
  | {
      readonly kind: "command";
      readonly entries: readonly CommandEntry[];
      readonly options: readonly Option[];
    }
  /** The value of an option. */
  | { readonly kind: "value"; readonly option: Option }
  /** An argument, or an option; the arguments before it are given. */
  | {
      readonly kind: "argument";
      readonly command: string;
      readonly argument: Argument | undefined;
      readonly given: readonly string[];
      readonly options: readonly Option[];
    }
  /** A word of the user's own command. */
  | { readonly kind: "own" };

/** Finds what may stand after these words of a command line of `drydock`. */
export async function expectedAfter(
  words: readonly string[],
  commands: readonly CommandEntry[],
  context: CommandContext,
): Promise<Expected> {
  let group = commands;
  let name = "";
  let rest = words;
  for (;;) {
    const options = optionsOf(withGlobalOptions(new NewCommand()));
    const { value, given, after } = withoutOptions(rest, options, 1);
    if (value !== undefined) return { kind: "value", option: value };
    const [word] = given;
    if (word === undefined) return { kind: "command", entries: group, options };
    const entry = group.find((candidate) => candidate.name === word);
    if (entry === undefined) return { kind: "own" };
    name = `${name} ${word}`.trim();
    rest = after;
    if (entry.commands === undefined) return await expectedIn(entry, name, rest, context);
    group = entry.commands;
  }
}

async function expectedIn(
  entry: CommandEntry,
  name: string,
  words: readonly string[],
  context: CommandContext,
): Promise<Expected> {
  const command = new NewCommand(entry.name);
  (await entry.load?.())?.define(command, context);
  const options = optionsOf(withGlobalOptions(command));
  const { value, given, isOver } = withoutOptions(words, options);
  if (isOver) return { kind: "own" };
  if (value !== undefined) return { kind: "value", option: value };
  const argument = argumentAt(command.registeredArguments, given.length);
  return { kind: "argument", command: name, argument, given, options };
}

function withGlobalOptions(command: Command): Command {
  addGlobalOptions(command);
  return command;
}

function optionsOf(command: Command): readonly Option[] {
  return command.createHelp().visibleOptions(command);
}

/** An argument that may be repeated stands for all further ones. */
function argumentAt(all: readonly Argument[], index: number): Argument | undefined {
  const last = all.at(-1);
  return all[index] ?? (last?.variadic === true ? last : undefined);
}

interface Sorted {
  /** The words that are neither options nor their values: at most so many as were asked for. */
  readonly given: readonly string[];
  readonly after: readonly string[];
  /** The option whose value comes next. */
  readonly value?: Option;
  /** Whether `--` has ended the options. */
  readonly isOver: boolean;
}

function withoutOptions(
  words: readonly string[],
  options: readonly Option[],
  most = Number.POSITIVE_INFINITY,
): Sorted {
  const given: string[] = [];
  let value: Option | undefined;
  for (const [at, word] of words.entries()) {
    if (value !== undefined) value = undefined;
    else if (word === "--") return { given, after: [], isOver: true };
    else if (!word.startsWith("-")) given.push(word);
    else value = options.find((option) => (option.long === word || option.short === word) && option.required);
    if (given.length === most) return { given, after: words.slice(at + 1), isOver: false };
  }
  return { given, after: [], isOver: false, ...(value !== undefined && { value }) };
}
