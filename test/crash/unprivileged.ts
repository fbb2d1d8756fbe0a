import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { builtDriver } from "./run-driver.ts";

const NOBODY = 65534;

export interface UnprivilegedOptions {
  /** Kill it at its points; else it is only traced. */
  readonly kills?: boolean;
  /** Let it die at this point first, and look at the recovery from that. */
  readonly recoveryFrom?: string;
}

/**
 * Runs a scenario as a user without privilege, also when the tests are run by root; returns the names of the
 * points it passes.
 */
export async function runUnprivileged(
  scenario: "apply" | "undo" | "restore",
  { kills, recoveryFrom }: UnprivilegedOptions = {},
): Promise<string[]> {
  const isRoot = process.geteuid?.() === 0;
  const { NODE_OPTIONS: _, ...environment } = process.env;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [
      join(import.meta.dirname, "unprivileged-run.ts"),
      scenario,
      kills === true ? "kill" : "trace",
      recoveryFrom ?? "",
    ],
    {
      ...(isRoot && { uid: NOBODY, gid: NOBODY }),
      cwd: "/",
      env: { ...environment, DRYDOCK_TEST_DRIVER: await builtDriver() },
      maxBuffer: 64 * 1024 * 1024,
    },
  );
  return JSON.parse(stdout) as string[];
}
