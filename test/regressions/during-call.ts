import { spawnSync } from "node:child_process";
import { join } from "node:path";
import type { ChildTask } from "../rivals/drydock-child.ts";
import { DrydockProcess, type ProcessEnd } from "../rivals/drydock-process.ts";

const RUNTIME = join(import.meta.dirname, "../../src/runtime.ts");

/** Runs a process that stops once at a failpoint, lets somebody act meanwhile, and gives how it ended. */
export async function actDuring(task: ChildTask, failpoint: string, act: () => void): Promise<ProcessEnd> {
  await using child = new DrydockProcess(task, { failpoint });
  await child.mustStop();
  act();
  child.goOn();
  return await child.ends();
}

/**
 * Runs a few statements that know `drydock` in a process of its own that a failpoint is to kill, for calls
 * that are not those of plans. Gives the signal it died by.
 */
export function dieDuring(stateDir: string, statements: string, failpoint: string): NodeJS.Signals | null {
  const script = `
    import { openServices } from ${JSON.stringify(RUNTIME)};
    const drydock = await openServices({ stateDir: ${JSON.stringify(stateDir)} });
    ${statements}
    await drydock.close();`;
  const env = { ...process.env, DRYDOCK_FAILPOINT: failpoint, NODE_NO_WARNINGS: "1" };
  const { signal, stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", script], {
    env,
    encoding: "utf8",
  });
  if (signal === null) throw new Error(`It did not die: ${stderr}`);
  return signal;
}
