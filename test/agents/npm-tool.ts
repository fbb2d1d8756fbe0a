import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { Ended } from "../end-to-end/workplace.ts";
import { runProgram, TemporaryFolder } from "../project/project-copy.ts";

const PATIENCE_MS = 120_000;

/** The opencode that the adapter is tried with. */
export const OPENCODE_VERSION = "1.18.33";

/** Installs a package of npm below a folder. */
export function installPackage(folder: string, name: string): void {
  const options = ["--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts"];
  const { status, stderr } = runProgram("npm", ["install", "--prefix", folder, ...options, name]);
  assert.equal(status, 0, `npm install ${name} failed: ${stderr}`);
}

/**
 * A program of npm, installed into a temporary folder: one that is too large to be a dependency of the
 * project. Removed when it goes out of scope (`using`).
 */
export class NpmTool implements Disposable {
  readonly #folder = new TemporaryFolder();
  readonly program: string;

  /** `program` is the path of the program below `node_modules`. */
  constructor(name: string, version: string, program: string) {
    this.program = join(this.#folder.path, "node_modules", program);
    try {
      installPackage(this.#folder.path, `${name}@${version}`);
    } catch (thrown) {
      this[Symbol.dispose]();
      throw thrown;
    }
  }

  /** Runs it to its end. */
  async run(
    args: readonly string[],
    { cwd, env }: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
  ): Promise<Ended> {
    const child = spawn(this.program, args, {
      ...{ cwd, env, timeout: PATIENCE_MS },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const [stdout, stderr, [status]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, "close"),
    ]);
    return { status, stdout, stderr };
  }

  [Symbol.dispose](): void {
    this.#folder[Symbol.dispose]();
  }
}
