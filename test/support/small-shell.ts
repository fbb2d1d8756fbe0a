import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, mkdtempSync, readFileSync, readSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { fastFolder } from "./fast-folder.ts";
import { newPipe } from "./pipe.ts";

/**
 * Runs small programs for a test process, one after the other, by a shell that stays. When Node starts a
 * program, the kernel copies the tables of all of its memory, and that takes longer than most runs of git;
 * of a shell there is next to nothing to copy.
 */
export class SmallShell {
  readonly #process: ChildProcess;
  readonly #requests: number;
  readonly #answers: number;
  readonly #folder = mkdtempSync(join(fastFolder(), "drydock-shell-"));
  readonly #chunk = Buffer.alloc(64);

  constructor(environment: NodeJS.ProcessEnv) {
    const [requests, answers] = [newPipe(), newPipe()];
    this.#process = spawn("/bin/sh", ["-s"], {
      cwd: "/",
      env: environment,
      stdio: [requests[0], answers[1], "inherit"],
    });
    closeSync(requests[0]);
    closeSync(answers[1]);
    [this.#requests, this.#answers] = [requests[1], answers[0]];
    // It ends when nothing can ask any more.
    this.#process.unref();
    process.once("exit", () => rmSync(this.#folder, { recursive: true, force: true }));
  }

  /** What the program says on standard output. Fails, as execFileSync does, if it exits with an error. */
  run(cwd: string, command: readonly string[]): string {
    const [output = "", errors = ""] = ["output", "errors"].map((name) => join(this.#folder, name));
    const words = ["(cd", quoted(cwd), "&& exec", ...command.map(quoted), ")"];
    const streams = `</dev/null >${quoted(output)} 2>${quoted(errors)}`;
    writeAll(this.#requests, Buffer.from(`${words.join(" ")} ${streams}; echo $?\n`));
    const length = readSync(this.#answers, this.#chunk);
    if (length === 0) throw new Error(`The shell has ended instead of running ${command.join(" ")}.`);
    const status = Number(this.#chunk.toString("latin1", 0, length));
    if (status === 0) return readFileSync(output, "utf8");
    const stderr = readFileSync(errors, "utf8");
    const message = `Command failed: ${command.join(" ")}\n${stderr}`;
    throw Object.assign(new Error(message), { status, stderr, stdout: readFileSync(output, "utf8") });
  }
}

function writeAll(fd: number, bytes: Uint8Array): void {
  for (let from = 0; from < bytes.length; ) from += writeSync(fd, bytes, from);
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
