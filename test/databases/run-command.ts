import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import type { DriverEnd, DriverOptions } from "../crash/run-driver.ts";
import { program } from "../end-to-end/workplace.ts";

/**
 * Runs a command of users as the driver of the crash suite would do something: to its end, whatever end that
 * is.
 */
export async function runCommand(
  args: readonly string[],
  stateDir: string,
  { failpoints, trace }: Pick<DriverOptions, "failpoints" | "trace">,
): Promise<DriverEnd> {
  const child = spawn(program, [...args, "--state-dir", stateDir], {
    cwd: "/",
    env: {
      ...process.env,
      ...(failpoints !== undefined && { DRYDOCK_FAILPOINT: failpoints }),
      ...(trace !== undefined && { DRYDOCK_FAILPOINT_TRACE: trace }),
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [stdout, stderr, [code, signal]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "exit") as Promise<[number | null, NodeJS.Signals | null]>,
  ]);
  if (code === 0) return { signal, stderr, done: { stdout } };
  const failed = { name: "", message: stderr, details: {}, stack: stderr };
  return { signal, stderr, ...(signal === null && { failed }) };
}
