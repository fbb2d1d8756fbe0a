import { spawnSync } from "node:child_process";
import { existsSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";

/**
 * Makes a folder once for each run of the tests, and copies it for everybody else who wants one like it: what
 * is expensive to make, such as the data of a database server. Where a test process runs alone, it makes its
 * own.
 */
export async function fromTemplate(name: string, folder: string, make: () => Promise<void>): Promise<void> {
  const shared = process.env["DRYDOCK_TEST_TEMPLATES"];
  const template = shared === undefined ? undefined : join(shared, name);
  if (template !== undefined && existsSync(template)) return copy(template, folder);
  await make();
  if (template !== undefined) keep(folder, template);
}

/** Another test process may make the same one, and what is there has to be whole. */
function keep(folder: string, template: string): void {
  const making = `${template}.${process.pid}`;
  copy(folder, making);
  try {
    renameSync(making, template);
  } catch (thrown) {
    rmSync(making, { recursive: true, force: true });
    if (!existsSync(template)) throw thrown;
  }
}

function copy(from: string, to: string): void {
  const { status, stderr, error } = spawnSync("cp", ["-a", from, to], { encoding: "utf8" });
  if (status !== 0) throw new Error(`no copy of ${from}: ${error?.message ?? stderr}`);
}
