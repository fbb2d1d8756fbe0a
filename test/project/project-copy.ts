import { type SpawnSyncReturns, spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { removeFolder } from "../support/remove-folder.ts";

/** The project that is tested. */
export const projectRoot = join(import.meta.dirname, "../..");

/** A temporary folder, removed when it goes out of scope (`using`). */
export class TemporaryFolder {
  readonly path = realpathSync(mkdtempSync(join(tmpdir(), "drydock-project-")));

  /** Copies parts of the project here, those that there are, and lets them use its packages. */
  copy(...parts: readonly string[]): void {
    for (const part of parts.filter((name) => existsSync(join(projectRoot, name)))) {
      cpSync(join(projectRoot, part), join(this.path, part), { recursive: true });
    }
  }

  /** Lets what is here use the packages of the project. */
  linkPackages(): void {
    symlinkSync(join(projectRoot, "node_modules"), join(this.path, "node_modules"));
  }

  /** Writes a file, making its folder. */
  write(name: string, text: string, mode = 0o644): string {
    const file = join(this.path, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text, { mode });
    return file;
  }

  /** Removes a file. */
  remove(name: string): void {
    rmSync(join(this.path, name));
  }

  [Symbol.dispose](): void {
    removeFolder(this.path);
  }
}

/**
 * Runs a program to its end, on this Node if it looks for one, and as a user would: not as part of these
 * tests.
 */
export function runProgram(
  program: string,
  args: readonly string[],
  options: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {},
): SpawnSyncReturns<string> {
  const { NODE_TEST_CONTEXT: _, DRYDOCK_FROM_SOURCE: __, NODE_V8_COVERAGE: ___, ...inherited } = process.env;
  const env = { ...inherited, PATH: `${dirname(process.execPath)}:${process.env["PATH"]}`, ...options.env };
  return spawnSync(program, args, { cwd: options.cwd, env, encoding: "utf8", timeout: 300_000 });
}
