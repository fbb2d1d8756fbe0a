import { bytesFromPath } from "../core/byte-path.ts";
import { jsonDocument } from "./json-document.ts";
import { oneLine } from "./printable.ts";
import { ProgressBar } from "./progress-bar.ts";
import { ANSI_STYLES, NO_STYLES, type Styles } from "./render/styles.ts";
import type { TerminalFeatures } from "./terminal.ts";

/** One of the standard streams, as far as we use it. */
export interface OutputStream {
  write(bytes: Uint8Array, done: (error?: Error | null) => void): boolean;
  on(event: "error", listener: (error: Error) => void): unknown;
}

const BATCH_CHARACTERS = 64 * 1024;

/**
 * What a command says. Results go to stdout: text, or with `--json` exactly one document. Everything else goes to stderr.
 *
 * A reader that went away (`| head`) is no failure: the rest is not written, and nobody is told. It must not end a command in the middle
 * of its work either, so errors of the streams are always handled.
 */
export class Output {
  readonly terminal: TerminalFeatures;
  readonly progress: ProgressBar;
  /** For stdout. */
  readonly styles: Styles;
  /** For stderr. */
  readonly errorStyles: Styles;
  readonly #stdout: OutputStream;
  readonly #stderr: OutputStream;
  #failure: Error | undefined;

  constructor(stdout: OutputStream, stderr: OutputStream, terminal: TerminalFeatures) {
    this.#stdout = stdout;
    this.#stderr = stderr;
    this.terminal = terminal;
    this.styles = terminal.colour ? ANSI_STYLES : NO_STYLES;
    this.errorStyles = terminal.errorColour ? ANSI_STYLES : NO_STYLES;
    this.progress = new ProgressBar(
      terminal.progress,
      (text) => this.#toStderr(text),
      () => performance.now(),
    );
    stdout.on("error", (error) => this.#failed(error));
    stderr.on("error", () => undefined);
  }

  /** Why stdout can't be written to, if it can't. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  /** Writes to stdout and waits until it is taken. Lone surrogates become the bytes that they stand for. */
  async write(content: string | Uint8Array): Promise<void> {
    if (this.#failure !== undefined) return;
    this.progress.clear();
    const bytes = typeof content === "string" ? bytesFromPath(content) : content;
    await new Promise<void>((resolve) => {
      this.#stdout.write(bytes, (error) => {
        if (error) this.#failed(error);
        resolve();
      });
    });
  }

  /** Writes lines to stdout, many at a time. */
  async lines(lines: Iterable<string>): Promise<void> {
    let batch = "";
    for (const line of lines) {
      batch += `${line}\n`;
      if (batch.length < BATCH_CHARACTERS) continue;
      await this.write(batch);
      batch = "";
      if (this.#failure !== undefined) return;
    }
    if (batch !== "") await this.write(batch);
  }

  /** Writes the one document of `--json`. */
  async document(value: object): Promise<void> {
    for (const piece of jsonDocument(value, this.terminal.interactive ? 2 : 0)) await this.write(piece);
  }

  /** Writes one line to stderr. */
  notice(line: string): void {
    this.progress.clear();
    this.#toStderr(`${line}\n`);
  }

  /** Writes a warning to stderr. */
  warning(text: string): void {
    this.notice(`${this.errorStyles.yellow("warning:")} ${oneLine(text)}`);
  }

  #toStderr(text: string): void {
    this.#stderr.write(Buffer.from(text), () => undefined);
  }

  #failed(error: Error): void {
    this.#failure ??= error;
  }
}

/** Whether a stream failed because nobody reads it any more. */
export function readerIsGone(failure: Error): boolean {
  return "code" in failure && (failure.code === "EPIPE" || failure.code === "ERR_STREAM_DESTROYED");
}
