import { once } from "node:events";
import { bytesFromPath } from "../../core/paths/byte-path.ts";
import { failedWith } from "../../system/calls/errno.ts";
import { startProcess } from "../../system/process/start-process.ts";

/** Quits if everything fits on the screen, shows colours, and leaves the text there. */
const LESS = "FRX";

/**
 * Shows a text in the user's pager, on stderr: PAGER, or less. Returns when the user leaves it. `false` if
 * there is no such program.
 */
export async function page(
  text: AsyncIterable<string>,
  environment: { readonly [name: string]: string | undefined },
): Promise<boolean> {
  const { PAGER = "" } = environment;
  const set = Object.entries({ LESS, ...environment }).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  const pager = startProcess(
    {
      file: "/bin/sh",
      args: ["-c", PAGER.trim() === "" ? "less" : PAGER],
      environment: Object.fromEntries(set),
      atTerminal: true,
    },
    ["pipe", 2, 2],
  );
  const ended = once(pager, "exit");
  const { stdin } = pager;
  stdin?.on("error", (thrown) => {
    // The user left before the end.
    if (!failedWith(thrown, "EPIPE", "ECONNRESET")) throw thrown;
  });
  for await (const part of text) {
    if (stdin === null || stdin.destroyed) break;
    if (!stdin.write(bytesFromPath(part))) await Promise.race([once(stdin, "drain"), ended]);
    if (pager.exitCode !== null) break;
  }
  stdin?.end();
  const [code] = await ended;
  return code !== NO_SUCH_PROGRAM;
}

const NO_SUCH_PROGRAM = 127;
