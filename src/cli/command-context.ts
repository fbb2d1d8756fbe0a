import { UsageError } from "../core/errors/errors.ts";
import { displayPath } from "../core/paths/byte-path.ts";
import { exactCurrentFolder } from "../system/process/raw-arguments.ts";
import { EXIT } from "./exit-codes.ts";
import type { GlobalOptions } from "./global-options.ts";
import type { Output } from "./terminal/output.ts";

/** The context of one call of the command line. */
export class CommandContext {
  readonly output: Output;
  readonly environment: { readonly [name: string]: string | undefined };
  /** The full name of the command, for messages: "drydock plan apply". */
  command = "drydock";
  options: GlobalOptions;
  /** The plan to name if the command fails, because the error does not name it. */
  failedPlan: string | undefined;
  /** Aborted when a signal asks the command to end; absent where that ends it at once. */
  interrupted: AbortSignal | undefined;
  /** Whether the command has opened a state directory. */
  hasOpened = false;
  #exitCode: number = EXIT.done;
  #folder: string | undefined;

  constructor(
    output: Output,
    environment: { readonly [name: string]: string | undefined },
    options: GlobalOptions,
  ) {
    this.output = output;
    this.environment = environment;
    this.options = options;
  }

  get cwd(): string {
    return this.#folder ?? exactCurrentFolder();
  }

  /** Works as if the command had been started in this folder. */
  async enter(folder: string): Promise<void> {
    const { factsOfPath, realPathOf } = await import("../system/data/locations.ts");
    const real = realPathOf(folder);
    if (real === undefined || factsOfPath(real)?.kind !== "directory")
      throw new UsageError(`There is no folder ${displayPath(folder)}.`, {
        hint: "Give -C a folder that exists.",
        code: "NO_SUCH_FOLDER",
      });
    this.#folder = real;
  }

  get exitCode(): number {
    return this.#exitCode;
  }

  /**
   * Sets the exit code of a command that worked but needs attention, or that passes on the code of another
   * command.
   */
  exitWith(code: number): void {
    this.#exitCode = code;
  }

  /** Prints the result: as a document with `--json`, else as lines for people. */
  result(value: object, lines: () => Iterable<string>): void {
    if (this.options.json) this.output.document(value);
    else this.output.lines(lines());
  }
}
