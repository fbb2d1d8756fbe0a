import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { runCommand } from "../support/command-nursery.ts";
import { removeFolder } from "../support/remove-folder.ts";

/** The program that users run. */
export const program = join(import.meta.dirname, "../../bin/drydock");

/** The flags with which a program that imports the package gets the build; for coverage, the source. */
export const PACKAGE_FLAGS: readonly string[] =
  process.env["DRYDOCK_FROM_SOURCE"] === undefined ? [] : ["--conditions=drydock-source"];

const PATIENCE_MS = 120_000;

/** How a command ended and what it said. */
export interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly input?: string | Uint8Array;
  /** How long it may take. Default: two minutes. */
  readonly patienceMs?: number;
}

/**
 * A temporary place to work in, with a state directory of its own; removed when it goes out of scope
 * (`using`).
 */
export class Workplace implements Disposable {
  readonly path = realpathSync(mkdtempSync(join(tmpdir(), "drydock-end-to-end-")));
  readonly state = join(this.path, "state");

  /** The environment of a user who has nothing set but what a command needs. */
  get environment(): NodeJS.ProcessEnv {
    const { PATH, NODE_V8_COVERAGE, DRYDOCK_FROM_SOURCE, DRYDOCK_FAILPOINT_KILLS } = process.env;
    const inherited = Object.entries({
      PATH,
      NODE_V8_COVERAGE,
      DRYDOCK_FROM_SOURCE,
      DRYDOCK_FAILPOINT_KILLS,
    });
    const set = Object.fromEntries(inherited.filter(([, value]) => value !== undefined));
    return { ...set, HOME: join(this.path, "home"), DRYDOCK_STATE_DIR: this.state, DRYDOCK: program };
  }

  /** Runs drydock to its end, in a process that is forked from a warm one where that makes no difference. */
  drydock(args: readonly string[], options: RunOptions = {}): Ended {
    const { cwd = this.path, env, input, patienceMs = PATIENCE_MS } = options;
    const environment = { ...this.environment, ...env };
    return runCommand({ args, cwd, environment, input, patienceMs }) ?? this.run(program, args, options);
  }

  /** Runs drydock, which must succeed and say nothing on stderr; returns what it printed. */
  done(...args: readonly string[]): string {
    const { status, stdout, stderr } = this.drydock(args);
    assert.deepEqual({ status, stderr }, { status: 0, stderr: "" }, `drydock ${args.join(" ")}`);
    return stdout;
  }

  /** Runs drydock with --json, which must succeed; returns what it answered. */
  // biome-ignore lint/suspicious/noExplicitAny: what comes out is what the tests look at
  answer(...args: readonly string[]): any {
    return JSON.parse(this.done(...args, "--json"));
  }

  /** Runs any program to its end. */
  run(
    file: string,
    args: readonly string[],
    { cwd = this.path, env, input, patienceMs = PATIENCE_MS }: RunOptions = {},
  ): Ended {
    const { status, stdout, stderr, error } = spawnSync(file, args, {
      cwd,
      env: { ...this.environment, ...env },
      encoding: "utf8",
      timeout: patienceMs,
      maxBuffer: 1 << 28,
      ...(input === undefined ? { stdio: ["ignore", "pipe", "pipe"] } : { input }),
    });
    if (error !== undefined) throw error;
    return { status, stdout, stderr };
  }

  /** Runs a script of bash, in which "$DRYDOCK" is the program. */
  shell(script: string, options: RunOptions = {}): Ended {
    return this.run("bash", ["-c", script], options);
  }

  /** Starts drydock and leaves it running. */
  start(args: readonly string[], env: NodeJS.ProcessEnv = {}): Running {
    const stdio = ["pipe", "pipe", "pipe"] as const;
    return new Running(
      spawn(program, args, { cwd: this.path, env: { ...this.environment, ...env }, stdio: [...stdio] }),
    );
  }

  /** Makes a folder with these files; a name that ends with a slash is an empty folder. */
  folder(name: string, files: { readonly [path: string]: string }): string {
    const folder = join(this.path, name);
    mkdirSync(folder, { recursive: true });
    for (const [path, text] of Object.entries(files)) this.write(join(name, path), text);
    return folder;
  }

  /** Writes a file, making its folder. */
  write(path: string, text: string): string {
    const file = join(this.path, path);
    if (path.endsWith("/")) mkdirSync(file, { recursive: true });
    else {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
    }
    return file;
  }

  read(path: string): string {
    return readFileSync(join(this.path, path), "utf8");
  }

  /** The text of a file anywhere. */
  readAt(file: string): string {
    return readFileSync(file, "utf8");
  }

  /** Every path below a folder, with the content of files. */
  tree(path: string): { readonly [path: string]: string } {
    const entries = readdirSync(join(this.path, path), { recursive: true, withFileTypes: true });
    const files = entries.map((entry) => {
      const full = join(entry.parentPath, entry.name);
      return [
        full.slice(join(this.path, path).length + 1),
        entry.isFile() ? readFileSync(full, "utf8") : "/",
      ];
    });
    return Object.fromEntries(files.sort());
  }

  [Symbol.dispose](): void {
    removeFolder(this.path);
  }
}

/** A command that is running. */
export class Running {
  readonly #child: ChildProcess;
  /** Listens from the beginning: the command may end before the test asks how. */
  readonly #closed: Promise<unknown[]>;
  #stdout = "";
  #stderr = "";

  constructor(child: ChildProcess) {
    this.#child = child;
    this.#closed = once(child, "close");
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.#stdout += text;
    });
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr += text;
    });
  }

  /** That of Node: whatever starts it becomes it. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  get stdout(): string {
    return this.#stdout;
  }

  get stderr(): string {
    return this.#stderr;
  }

  /**
   * Waits until it has stopped itself at a failpoint. bin/drydock becomes Node by exec, so its pid is that of
   * Node.
   */
  async stopped(): Promise<void> {
    await this.until(() => /^\S+ \(.*\) T /s.test(readFileSync(`/proc/${this.#child.pid}/stat`, "latin1")));
  }

  /** Waits until something is true, which it must become within a minute, or in as many seconds. */
  async until(condition: () => boolean, seconds = 60): Promise<void> {
    for (let tries = 0; tries < seconds * 100; tries += 1) {
      if (condition()) return;
      assert.equal(this.#child.exitCode, null, `it ended too early: ${this.#stdout}${this.#stderr}`);
      await setTimeout(10);
    }
    assert.fail(`it never happened: ${this.#stdout}${this.#stderr}`);
  }

  /** Fails if it has ended, with what it said. */
  async assertRunning(): Promise<void> {
    await setTimeout(10);
    const { exitCode, signalCode } = this.#child;
    assert.deepEqual(
      { exitCode, signalCode },
      { exitCode: null, signalCode: null },
      this.#stdout + this.#stderr,
    );
  }

  /** Gives it some input, which is not all. */
  input(text: string): void {
    this.#child.stdin?.write(text);
  }

  /** Waits until it has taken all the input that it got, and waits for more. */
  async reading(): Promise<void> {
    await this.until(
      () =>
        this.#child.stdin?.writableLength === 0 &&
        readFileSync(`/proc/${this.#child.pid}/wchan`, "latin1") !== "0",
    );
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  signal(...signals: readonly NodeJS.Signals[]): void {
    for (const signal of signals) this.#child.kill(signal);
  }

  async ended(): Promise<Ended & { readonly signal: NodeJS.Signals | null }> {
    await this.#closed;
    const { exitCode, signalCode } = this.#child;
    return { status: exitCode, signal: signalCode, stdout: this.#stdout, stderr: this.#stderr };
  }

  /** The same, but whatever hangs is an error that says what it said so far. */
  async endedWithin(seconds: number): Promise<Ended> {
    const late = new AbortController();
    const ended = this.ended();
    const first = await Promise.race([ended, setTimeout(seconds * 1000, "late" as const, late)]);
    late.abort();
    if (first !== "late") return first;
    ended.catch(() => undefined);
    assert.fail(`it has not ended after ${seconds} seconds: ${this.#stdout}${this.#stderr}`);
  }
}

/**
 * Checks that a command was refused: an exit code, a line that says what is wrong, one that says what to do,
 * and no trace.
 */
export function assertRefused(ended: Ended, status: number, wrong: RegExp, hint = /\S/): void {
  const [first = "", second = "", ...others] = ended.stderr.trimEnd().split("\n");
  assert.equal(ended.status, status, ended.stderr);
  assert.equal(ended.stdout, "");
  assert.match(first, /^error: \S/);
  assert.match(first, wrong);
  assert.match(second, /^ {2}hint: \S/);
  assert.match(second, hint);
  for (const other of others) assert.match(other, /^ {2}(?:conflict|not undone|check): /);
}
