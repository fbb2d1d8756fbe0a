import type { Command } from "commander";
import { UsageError } from "../../core/errors/errors.ts";
import type { CommandContext } from "../command-context.ts";
import type { CommandEntry, CommandModule } from "../command-entry.ts";
import { COMPLETION_SCRIPTS, SHELLS, type Shell } from "../completion/scripts.ts";
import { oneLine } from "../terminal/printable.ts";

/** `drydock completion SHELL`, and what its script asks: `drydock completion --words -- WORD…` */
export function completionOf(commands: readonly CommandEntry[]): CommandModule {
  return { define: (command, context) => define(command, commands, context) };
}

function define(command: Command, commands: readonly CommandEntry[], context: CommandContext): void {
  command
    .usage("[options] bash|zsh|fish")
    .argument("[SHELL...]", "the shell: bash, zsh or fish")
    .option("--words", "print what can stand for the last of the words that follow --, a line each")
    .action(async (given: readonly string[], { words = false }: { readonly words?: boolean }) => {
      if (words) return await printWords(given, commands, context);
      const script = COMPLETION_SCRIPTS[shellIn(given)];
      context.result({ script }, () => script.trimEnd().split("\n"));
    });
}

async function printWords(
  words: readonly string[],
  commands: readonly CommandEntry[],
  context: CommandContext,
): Promise<void> {
  // Loaded here, because a script needs none of it.
  const { candidatesFor } = await import("../completion/candidates.ts");
  const candidates = await candidatesFor(words, commands, context);
  context.result({ candidates }, () => candidates.map(({ word, about }) => `${word}\t${oneLine(about)}`));
}

function shellIn([given, ...more]: readonly string[]): Shell {
  const shell = SHELLS.find((known) => known === given);
  if (shell !== undefined && more.length === 0) return shell;
  throw new UsageError(
    given === undefined
      ? "Which shell?"
      : `There is no completion for '${oneLine([given, ...more].join(" "))}'.`,
    { hint: `Give one of ${SHELLS.join(", ")}.` },
  );
}
