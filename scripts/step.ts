import { spawn } from "node:child_process";
import { join } from "node:path";

export const root = join(import.meta.dirname, "..");

/** One thing that `npm test` does before the tests: a command, under a name. */
export interface Step {
  readonly name: string;
  readonly command: readonly [string, ...string[]];
}

/** Runs a step. Prints one line when it is done, and all that it said if it failed. */
export async function runStep({ name, command }: Step): Promise<boolean> {
  const start = performance.now();
  const [program, ...args] = command;
  const output: string[] = [];
  const child = spawn(program, args, { cwd: root, stdio: ["ignore", "pipe", "pipe"] });
  child.stdout.setEncoding("utf8").on("data", (text: string) => output.push(text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => output.push(text));
  const failure = await new Promise<string | undefined>((resolve) => {
    child.on("error", (error) => resolve(error.message));
    child.on("close", (code, signal) => resolve(code === 0 ? undefined : (signal ?? `exit code ${code}`)));
  });
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  if (failure === undefined) {
    console.log(`✔ ${name} (${seconds} s)`);
    return true;
  }
  console.log(`✖ ${name} (${seconds} s, ${failure})\n${output.join("").trimEnd()}`);
  return false;
}

/** Runs steps at the same time; returns the names of those that failed. */
export async function runSteps(steps: readonly Step[]): Promise<readonly string[]> {
  const results = await Promise.all(steps.map(async (step) => ({ step, passed: await runStep(step) })));
  return results.filter(({ passed }) => !passed).map(({ step }) => step.name);
}
