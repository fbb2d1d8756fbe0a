import { Command, type CommanderError } from "commander";
import { UnsupportedError, UsageError } from "../core/errors/errors.ts";
import { nearestName } from "../core/values/nearest-name.ts";
import type { CommandContext } from "./command-context.ts";
import type { CommandEntry } from "./command-entry.ts";
import { COMMANDS } from "./command-table.ts";
import { addGlobalOptions, globalOptionsOf } from "./global-options.ts";
import { oneLine } from "./terminal/printable.ts";

/** Thrown to end the parsing when the user asked for help or the version. */
export class TextRequest extends Error {
  readonly request: { readonly help: string } | { readonly version: true };

  constructor(request: TextRequest["request"]) {
    super("The user asked for help or the version.");
    this.request = request;
  }
}

/**
 * The tree of commands for these arguments. At first it has only names and summaries. A command's own file is
 * loaded when the command is called or asked for its help, and adds arguments, options and action.
 */
export function buildProgram(context: CommandContext, platform: string, args: readonly string[]): Command {
  const program = new Command("drydock");
  let help = "";
  program
    .description(
      "Change real things in isolation, look at what would change, then land all of it or none of it.",
    )
    .configureHelp({ subcommandTerm: (command) => command.name() })
    .configureOutput({ writeOut: (text) => (help += text), writeErr: () => undefined })
    .option("-V, --version", "show the version")
    .on("option:version", () => {
      throw new TextRequest({ version: true });
    })
    .hook("preAction", (_, command) => {
      context.command = callOf(command);
      context.options = globalOptionsOf(command);
    });
  makeGroup(program, COMMANDS, { context, platform, takeHelp: () => help, words: args });
  return program;
}

interface Frame {
  readonly context: CommandContext;
  readonly platform: string;
  readonly takeHelp: () => string;
  /** The arguments, from the name of a command in this group on. */
  readonly words: readonly string[];
}

/**
 * Each command costs time at every start. So a group has all its commands only if its first argument names
 * none of them, and those of an inner group are made when that group is called.
 */
function makeGroup(group: Command, entries: readonly CommandEntry[], frame: Frame): void {
  // An option after the name of a command belongs to that command, even if the group has it too.
  group.enablePositionalOptions().helpCommand(false).usage("[options] COMMAND");
  addGlobalOptions(group);
  translateExits(group, frame);
  const loads = new Map<Command, () => Promise<void> | void>();
  const [word, ...words] = frame.words;
  const called = entries.filter(({ name }) => name === word);
  for (const entry of called.length > 0 ? called : entries) {
    const command = group.command(entry.name).summary(entry.summary).description(sentence(entry.summary));
    const { commands } = entry;
    loads.set(command, () =>
      commands ? makeGroup(command, commands, { ...frame, words }) : loadCommand(command, entry, frame),
    );
  }
  group.hook("preSubcommand", async (_, command) => loads.get(command)?.());
}

async function loadCommand(command: Command, entry: CommandEntry, frame: Frame): Promise<void> {
  const loaded = await entry.load?.();
  loaded?.define(command, frame.context);
  addGlobalOptions(command);
  translateExits(command, frame);
  if (!entry.anywhere) command.hook("preAction", () => assertPlatform(frame.platform));
}

/** Commander prints and ends the process; here it throws instead. */
function translateExits(command: Command, { takeHelp }: Frame): void {
  command.exitOverride((exit: CommanderError) => {
    if (exit.code === "commander.helpDisplayed") throw new TextRequest({ help: takeHelp() });
    if (exit.code !== "commander.help") throw usageErrorFrom(exit, callOf(command));
    if (command.parent === null) throw new TextRequest({ help: command.helpInformation() });
    throw missingCommandError(
      callOf(command),
      command.commands.map((below) => below.name()),
    );
  });
}

/** Refuses a name that is not a command. Names after a command that is not a group are not checked. */
export function assertKnownCommand(names: readonly string[], entries = COMMANDS, group = "drydock"): void {
  const [name, ...others] = names;
  if (name === undefined) return;
  const entry = entries.find((candidate) => candidate.name === name);
  if (entry === undefined)
    throw unknownCommandError(
      name,
      group,
      entries.map((candidate) => candidate.name),
    );
  if (entry.commands !== undefined) assertKnownCommand(others, entry.commands, `${group} ${name}`);
}

/** Refuses every platform but Linux. */
function assertPlatform(platform: string): void {
  if (platform === "linux") return;
  throw new UnsupportedError(`Drydock works on Linux only, and this is ${platform}.`, {
    hint: "Run it on a Linux machine; 'drydock doctor' says what is missing.",
  });
}

/** The full name of the command: "drydock plan apply". */
function callOf(command: Command): string {
  return command.parent === null ? command.name() : `${callOf(command.parent)} ${command.name()}`;
}

/** Our error for arguments that commander refuses: "error: unknown option '--al'\n(Did you mean --all?)". */
function usageErrorFrom(refusal: CommanderError, command: string): UsageError {
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
function unknownCommandError(name: string, group: string, names: readonly string[]): UsageError {
  const nearest = nearestName(name, names);
  const advice = nearest === undefined ? "" : `Did you mean ${nearest}? `;
  return new UsageError(`Unknown command '${oneLine(name)}'.`, {
    hint: `${advice}'${group} --help' shows what it takes.`,
  });
}

/** Our error for a group of commands, such as `drydock plan`, without a command. */
function missingCommandError(command: string, names: readonly string[]): UsageError {
  return new UsageError(`A command is missing after '${command}'.`, {
    hint: `It is one of ${names.join(", ")}; '${command} --help' says what they do.`,
  });
}

function sentence(text: string): string {
  const ended = text.endsWith(".") ? text : `${text}.`;
  return ended.charAt(0).toUpperCase() + ended.slice(1);
}
