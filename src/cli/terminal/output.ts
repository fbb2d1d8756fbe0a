import { bytesFromPath } from "../../core/paths/byte-path.ts";
import { milliseconds } from "../../system/milliseconds.ts";
import { ANSI_STYLES, NO_STYLES, type Styles } from "../render/styles.ts";
import { jsonDocument } from "./json-document.ts";
import { oneLine, visibleJson, withStyles } from "./printable.ts";
import { ProgressBar } from "./progress-bar.ts";
import type { TerminalFeatures } from "./terminal.ts";

/** One of the standard streams, as far as we use it. */
export interface OutputStream {
  write(bytes: Uint8Array): void;
}

const BATCH_CHARACTERS = 64 * 1024;

/**
 * The output of a command. Results go to stdout: text, or with `--json` exactly one document. Everything else
 * goes to stderr.
 *
 * A reader that closes the pipe, as `head` does, is no failure: the rest is dropped in silence. It must not
 * stop a command in the middle of its work either, so the failure is recorded here.
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
  #stderrIsGone = false;
  #hasDocument = false;

  constructor(stdout: OutputStream, stderr: OutputStream, terminal: TerminalFeatures) {
    this.#stdout = stdout;
    this.#stderr = stderr;
    this.terminal = terminal;
    this.styles = terminal.colour ? ANSI_STYLES : NO_STYLES;
    this.errorStyles = terminal.errorColour ? ANSI_STYLES : NO_STYLES;
    this.progress = new ProgressBar(terminal.progress, (text) => this.#toStderr(text), milliseconds);
  }

  /** Why stdout can't be written to; undefined if it can. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  /** Writes to stdout. Lone surrogates become the bytes that they stand for. */
  write(content: string | Uint8Array): void {
    if (this.#failure !== undefined) return;
    this.progress.clear();
    try {
      this.#stdout.write(typeof content === "string" ? bytesFromPath(content) : content);
    } catch (thrown) {
      this.#failure = thrown instanceof Error ? thrown : new Error(String(thrown));
    }
  }

  /** Writes lines to stdout, many at a time. */
  lines(lines: Iterable<string>): void {
    for (const batch of this.textOf(lines)) {
      this.write(batch);
      if (this.#failure !== undefined) return;
    }
  }

  /** Lines as text for stdout, many at a time. */
  *textOf(lines: Iterable<string>): Generator<string> {
    let batch = "";
    for (const line of lines) {
      batch += `${this.terminal.interactive ? withStyles(line) : line}\n`;
      if (batch.length < BATCH_CHARACTERS) continue;
      yield batch;
      batch = "";
    }
    if (batch !== "") yield batch;
  }

  /** Whether the one document of `--json` is written. */
  get hasDocument(): boolean {
    return this.#hasDocument;
  }

  /** Writes the one document of `--json`. */
  document(value: object): void {
    this.#hasDocument = true;
    const { interactive } = this.terminal;
    for (const piece of jsonDocument(value, interactive ? 2 : 0))
      this.write(interactive ? visibleJson(piece) : piece);
  }

  /** Writes one line to stderr. */
  notice(line: string): void {
    this.progress.clear();
    this.#toStderr(`${withStyles(line)}\n`);
  }

  /** Writes a warning to stderr. */
  warning(text: string): void {
    this.notice(`${this.errorStyles.yellow("warning:")} ${oneLine(text)}`);
  }

  /** Ignores a failure: there is no other place to report it. */
  #toStderr(text: string): void {
    if (this.#stderrIsGone) return;
    try {
      this.#stderr.write(Buffer.from(text));
    } catch {
      this.#stderrIsGone = true;
    }
  }
}

/** Whether a stream failed because its reader closed it. */
export function readerIsGone(failure: Error): boolean {
  return "code" in failure && failure.code === "EPIPE";
}
