import type { Running } from "../end-to-end/workplace.ts";
import type { Stage } from "../run/stage.ts";

/** A user's shell at a terminal, with job control. */
export class OuterShell {
  readonly #terminal: Running;
  #seen = 0;

  private constructor(terminal: Running) {
    this.#terminal = terminal;
  }

  static async open(stage: Stage): Promise<OuterShell> {
    const shell = new OuterShell(stage.terminal("exec bash --norc --noprofile --noediting -i"));
    // What is echoed is not what is said: the words that one waits for are spelled in another way when they
    // are typed.
    shell.type(`PS1= PS2=; echo o''pen\n`);
    await shell.see(/open\r\n/);
    return shell;
  }

  type(text: string): void {
    this.#terminal.input(text);
  }

  /** Waits until it says something that it has not said before what was seen last; returns the match. */
  async see(pattern: RegExp): Promise<RegExpExecArray> {
    await this.#terminal.until(() => pattern.test(this.#unseen), 20);
    const match = pattern.exec(this.#unseen);
    if (match === null) throw new Error("it was there a moment ago");
    this.#seen += match.index + match[0].length;
    return match;
  }

  /** Runs a command to its end; returns what it says. */
  async run(command: string): Promise<string> {
    this.type(`${command}; echo e''nded\n`);
    return (await this.see(/e''nded\r\n(.*?)ended\r\n/s))[1] ?? "";
  }

  /** Everything that was said. */
  get said(): string {
    return this.#terminal.stdout;
  }

  get #unseen(): string {
    return this.#terminal.stdout.slice(this.#seen);
  }
}
