import type { Command } from "commander";
import type { CommandContext } from "./command-context.ts";

/** Adds arguments, options and action to a command. */
export type DefineCommand = (command: Command, context: CommandContext) => void;

export interface CommandModule {
  readonly define: DefineCommand;
}

/** A command, or with `commands` a group of commands. */
export interface CommandEntry {
  readonly name: string;
  readonly summary: string;
  /** Loads the one file that knows the command; a start loads no other. */
  readonly load?: () => Promise<CommandModule>;
  readonly commands?: readonly CommandEntry[];
  /** Works on every platform. */
  readonly anywhere?: boolean;
}
