import { type Command, Option } from "commander";
import { unescapePath } from "./options/escaped-path.ts";

/** The options of every command, before or after its name. */
export interface GlobalOptions {
  readonly json?: boolean;
  readonly stateDir?: string;
  readonly config?: string;
  readonly local?: boolean;
  readonly debug?: boolean;
  readonly yes?: boolean;
}

/** Adds the global options to a command or a group of commands. */
export function addGlobalOptions(command: Command): void {
  options ??= makeOptions();
  for (const option of options) command.addOption(option);
  command.optionsGroup(GROUP).helpOption("-h, --help", "show this help");
}

const GROUP = "Options of every command:";

/** Made once and shared, because making an option is slow. */
let options: readonly Option[] | undefined;

function makeOptions(): readonly Option[] {
  return [
    new Option("--json", "print one JSON document"),
    new Option("--state-dir <dir>", "where Drydock keeps its state (DRYDOCK_STATE_DIR)").argParser(
      unescapePath,
    ),
    new Option("--config <file>", "the drydock.yaml to use (DRYDOCK_CONFIG)").argParser(unescapePath),
    new Option("--local", "work on this machine alone, although the config names a fleet"),
    new Option("-y, --yes", "answer yes to questions"),
    new Option("--debug", "show stack traces of errors"),
  ].map((option) => option.helpGroup(GROUP));
}

/** The global options of a call, wherever they stand; the last one counts. */
export function globalOptionsOf(command: Command): GlobalOptions {
  const above = command.parent === null ? {} : globalOptionsOf(command.parent);
  const { json, stateDir, config, local, debug, yes } = command.opts<GlobalOptions>();
  const own = { json, stateDir, config, local, debug, yes };
  return { ...above, ...Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined)) };
}

/** Whether a flag is among the arguments, for when they could not be parsed. */
export function hasFlag(args: readonly string[], flag: string): boolean {
  const end = args.indexOf("--");
  return (end < 0 ? args : args.slice(0, end)).includes(flag);
}
