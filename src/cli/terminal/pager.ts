import { once } from "node:events";
import { bytesFromPath } from "../../core/paths/byte-path.ts";
import { failedWith } from "../../system/calls/errno.ts";
import { startProcess } from "../../system/process/start-process.ts";
import type { CommandContext } from "../command-context.ts";

/** Quits if everything fits on the screen, shows colours, and leaves the text there. */
const LESS = "FRX";
const NO_SUCH_PROGRAM = 127;

type Environment = { readonly [name: string]: string | undefined };
type Text = () => AsyncIterable<string>;

/** A program that shows text, and where it shows it. */
export interface Pager {
  /** As a shell takes it. */
  readonly command: string;
  readonly environment: Environment;
  readonly stream: 1 | 2;
}

/**
 * The user's pager: DRYDOCK_PAGER, PAGER, or less. Undefined if the user wants none: an empty DRYDOCK_PAGER,
 * or `cat`.
 */
export function pagerIn({ DRYDOCK_PAGER, PAGER = "" }: Environment): string | undefined {
  const command = (DRYDOCK_PAGER ?? (PAGER.trim() || "less")).trim();
  return command === "" || command === "cat" ? undefined : command;
}

/**
 * Prints text: through the user's pager if stdout is a terminal and `wanted` says so, else as it is. Ctrl-C
 * is the pager's.
 */
export async function printPaged(
  { output, environment }: CommandContext,
  text: Text,
  wanted: boolean,
): Promise<void> {
  const command = wanted && output.terminal.pages ? pagerIn(environment) : undefined;
  if (command !== undefined) {
    const ignore = () => undefined;
    process.on("SIGINT", ignore);
    try {
      if (await page({ command, environment, stream: 1 }, text(), () => output.progress.clear())) return;
    } finally {
      process.off("SIGINT", ignore);
    }
    output.warning(`There is no pager '${command}'. ${PAGER_HINT}`);
  }
  for await (const part of text()) {
    output.write(part);
    if (output.failure !== undefined) return;
  }
}

export const PAGER_HINT = "Install less, or set DRYDOCK_PAGER or PAGER to a program that shows text.";

/**
 * Shows a text in a pager, which starts with the first part of it. Returns when the user leaves it. `false`
 * if there is no such program.
 */
export async function page(
  { command, environment, stream }: Pager,
  text: AsyncIterable<string>,
  onStart: () => void = () => undefined,
): Promise<boolean> {
  const parts = text[Symbol.asyncIterator]();
  let part = await parts.next();
  if (part.done) return true;
  onStart();
  const pager = startProcess(
    { file: "/bin/sh", args: ["-c", command], environment: withLess(environment), atTerminal: true },
    ["pipe", stream, 2],
  );
  const ended = once(pager, "exit");
  const { stdin } = pager;
  stdin?.on("error", (thrown) => {
    // The user left before the end.
    if (!failedWith(thrown, "EPIPE", "ECONNRESET")) throw thrown;
  });
  for (; !part.done; part = await parts.next()) {
    if (stdin === null || stdin.destroyed) break;
    if (!stdin.write(bytesFromPath(part.value)))
      await Promise.race([new Promise((resolve) => stdin.once("drain", resolve)), ended]);
    if (pager.exitCode !== null) break;
  }
  await parts.return?.();
  stdin?.end();
  const [code] = await ended;
  return code !== NO_SUCH_PROGRAM;
}

function withLess(environment: Environment): { readonly [name: string]: string } {
  const set = Object.entries({ LESS, ...environment }).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  return Object.fromEntries(set);
}
