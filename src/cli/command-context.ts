import { exactCurrentFolder } from "../system/process/raw-arguments.ts";
import { EXIT } from "./exit-codes.ts";
import type { GlobalOptions } from "./global-options.ts";
import type { Output } from "./terminal/output.ts";

/** What one call of the command line works with. */
export class CommandContext {
  readonly output: Output;
  readonly environment: { readonly [name: string]: string | undefined };
  /** What the user called, for messages: "drydock plan apply". */
  command = "drydock";
  options: GlobalOptions;
  /** The plan that the user is told of if the command fails, because nothing else names it. */
  failedPlan: string | undefined;
  /** Whether the command has opened a state. */
  hasOpened = false;
  #exitCode: number = EXIT.done;

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
    return exactCurrentFolder();
  }

  get exitCode(): number {
    return this.#exitCode;
  }

  /** The command worked, and yet somebody has to do something; or it ends as another one did. */
  exitWith(code: number): void {
    this.#exitCode = code;
  }

  /** Prints the result of the command: as it is with `--json`, else as lines for people. */
  result(value: object, lines: () => Iterable<string>): void {
    if (this.options.json) this.output.document(value);
    else this.output.lines(lines());
  }
}
