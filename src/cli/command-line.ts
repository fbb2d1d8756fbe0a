import { exactArguments, exactEnvironment } from "../system/process/raw-arguments.ts";
import { StandardStream } from "../system/terminal/standard-stream.ts";
import { CommandContext } from "./command-context.ts";
import { errorDocument, errorLines, traceOf } from "./error-report.ts";
import { EXIT, exitCodeOf } from "./exit-codes.ts";
import { hasFlag } from "./global-options.ts";
import { assertKnownCommand, buildProgram, TextRequest } from "./program.ts";
import { Output, readerIsGone } from "./terminal/output.ts";
import { harmless } from "./terminal/printable.ts";
import { terminalFeatures } from "./terminal/terminal.ts";

/** How a command ended. */
export interface CommandEnd {
  readonly exitCode: number;
  /** Whether it opened a state directory; only a few small commands do not. */
  readonly hasOpened: boolean;
}

/** Runs the command that this process was started for. */
export async function runCommandLine(): Promise<CommandEnd> {
  const context = makeContext(process.argv.slice(2));
  process.on("uncaughtException", (thrown) => {
    process.exit(reportError(context, thrown));
  });
  const exitCode = await runCommand(context);
  return { exitCode, hasOpened: context.hasOpened };
}

async function runCommand(context: CommandContext): Promise<number> {
  try {
    const args = exactArguments(process.argv.slice(2));
    const words = withHelpOption(args);
    await buildProgram(context, process.platform, words).parseAsync(words, { from: "user" });
  } catch (thrown) {
    if (!(thrown instanceof TextRequest)) return reportError(context, thrown);
    await printText(context, thrown);
  }
  return reportLostOutput(context);
}

/**
 * Reads the global options before the arguments are parsed, so that an error in them is reported as asked.
 */
function makeContext(args: readonly string[]): CommandContext {
  const environment = exactEnvironment(process.env);
  const [stdout, stderr] = [new StandardStream(1), new StandardStream(2)];
  const terminals = { stdoutIsTerminal: stdout.isTerminal, stderrIsTerminal: stderr.isTerminal };
  const output = new Output(stdout, stderr, terminalFeatures(terminals, environment));
  return new CommandContext(output, environment, {
    json: hasFlag(args, "--json"),
    debug: hasFlag(args, "--debug"),
  });
}

/**
 * `drydock help plan create` means `drydock plan create --help`. Commander would show the help of a group for
 * any name that is not in it.
 */
function withHelpOption(args: readonly string[]): readonly string[] {
  const at = args.findIndex((argument, index) => isWord(argument, args[index - 1]));
  const [before, words] = [args.slice(0, at), at < 0 ? [] : args.slice(at)];
  if (words[0] === "help") {
    const rest = [...before, ...words.slice(1)];
    return withHelpOption(rest.includes("--help") ? rest : [...rest, "--help"]);
  }
  const names = words.slice(
    0,
    words.findIndex((argument) => argument.startsWith("-")),
  );
  if (words[names.length] === "--help" || words[names.length] === "-h") assertKnownCommand(names);
  return args;
}

/** Whether an argument is neither an option nor the value of one. */
function isWord(argument: string, before: string | undefined): boolean {
  return !argument.startsWith("-") && before !== "--state-dir" && before !== "--config";
}

async function printText({ output, options }: CommandContext, { request }: TextRequest): Promise<void> {
  const answer =
    "help" in request ? request : { version: await (await import("./commands/version.ts")).version() };
  if (options.json) output.document(answer);
  else output.write("help" in answer ? answer.help : `${answer.version}\n`);
}

function reportError({ output, options, exitCode, failedPlan }: CommandContext, thrown: unknown): number {
  if (options.json && !output.hasDocument) output.document(errorDocument(thrown, failedPlan));
  else for (const line of errorLines(thrown, output.errorStyles, failedPlan)) output.notice(line);
  if (options.debug) output.notice(harmless(traceOf(thrown)));
  return exitCode === EXIT.done ? exitCodeOf(thrown) : exitCode;
}

/** A lost result is a failure, unless the reader closed the stream. */
function reportLostOutput({ output, exitCode }: CommandContext): number {
  if (output.failure === undefined || readerIsGone(output.failure)) return exitCode;
  output.notice(`error: The command is done, but its output is lost: ${output.failure.message}.`);
  output.notice(
    "  hint: Look at the result with 'drydock plan show', and send stdout to a disk with free space.",
  );
  return exitCode === EXIT.done ? EXIT.failed : exitCode;
}
