import type { TerminalShape } from "../launch/own-terminal.ts";
import type { BoundedOutput } from "./bounded-output.ts";

/**
 * The terminal of a command: none; one that has the keyboard; or one that gets the keyboard when the command
 * reads from it. The last is for the case that only some of the streams are a terminal: another program of
 * the same pipeline, such as a pager, may be the one that reads.
 */
export type TerminalUse = "none" | "connected" | "on-demand";

/** What becomes of the standard streams of a command. */
export interface CommandStreams {
  /** The command's descriptors 0, 1 and 2. */
  readonly descriptors: readonly [number, number, number];
  /** Those that become the command's own terminal. */
  readonly terminals: readonly number[];
  readonly terminal: TerminalUse;
  /** The path of the file that is opened again as its standard input. */
  readonly inputFile: string | undefined;
  /** What the command writes, if both of its outputs come through us. It is whole after `finish`. */
  readonly kept: BoundedOutput | undefined;
  /** Call this when the command has its ends. */
  start(): void;
  /** Call this instead of `finish` if no command ever got them. */
  discard(): void;
  /** Prepares the outside of the command's own terminal, if it gets one. */
  openTerminal(): OuterTerminal | undefined;
  /** Waits until all output of the command is passed on that is ours to pass on. */
  finish(): Promise<void>;
}

/** What a command's own terminal is connected to. */
export interface OuterTerminal {
  readonly shape: TerminalShape;
  /** Connects it with this descriptor, the outer side of the command's terminal. */
  connect(outer: number): TerminalLink;
  /** Call this instead of `connect` if the command did not start. */
  close(): void;
}

/** A connected terminal. */
export interface TerminalLink {
  /** The command wants the keyboard. */
  takeKeyboard(): void;
  /** The command was stopped at its terminal. It goes on when the promise resolves. */
  stop(): Promise<void>;
  /** Resolves when all output is passed on and nothing is connected any more. */
  end(): Promise<void>;
}
