import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fastFolder } from "./fast-folder.ts";
import { NURSERY_FLAGS, type NurseryEvent, type NurseryRequest } from "./nursery-process.ts";

/** How a child ended, and what it said. */
export interface ChildEnd {
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface Expected {
  born(pid: number): void;
  ended(status: number): void;
  failed(error: Error): void;
}

/** Runs a program many times by a process that is forked for each; see nursery-process.ts. */
export class Nursery {
  readonly #process: ChildProcess;
  readonly #folder = mkdtempSync(join(fastFolder(), "drydock-nursery-"));
  readonly #expected = new Map<number, Expected>();
  #requests = 0;

  constructor(program: string, environment: NodeJS.ProcessEnv) {
    this.#process = spawn(process.execPath, [...NURSERY_FLAGS, program, "nursery"], {
      env: environment,
      stdio: ["pipe", "pipe", "inherit"],
    });
    process.once("exit", () => rmSync(this.#folder, { recursive: true, force: true }));
    this.#process.once("error", (error) => this.#fail(error));
    this.#process.stdin?.once("error", (error) => this.#fail(error));
    this.#process.once("exit", (code, signal) =>
      this.#fail(new Error(`the nursery has ended: ${signal ?? code}`)),
    );
    if (this.#process.stdout !== null)
      createInterface({ input: this.#process.stdout }).on("line", (line) => this.#hear(JSON.parse(line)));
    this.#mayEnd();
  }

  /** Runs it with this argument; `whenBorn` gets its pid, and whether it is still there. */
  async run(
    argument: string,
    environment: NurseryRequest["environment"],
    whenBorn?: (pid: number, isAlive: () => boolean) => Promise<void>,
  ): Promise<ChildEnd> {
    const id = this.#requests++;
    const output = join(this.#folder, String(id));
    let isAlive = true;
    let acted: Promise<void> | undefined;
    const ended = new Promise<number>((resolve, reject) => {
      this.#expected.set(id, {
        born: (pid) => {
          acted = whenBorn?.(pid, () => isAlive);
        },
        ended: resolve,
        failed: reject,
      });
    });
    const request: NurseryRequest = { id, output, environment, argument };
    this.#mustStay();
    this.#process.stdin?.write(`${JSON.stringify(request)}\n`);
    try {
      const status = await ended;
      isAlive = false;
      await acted;
      const [stdout = "", stderr = ""] = [".out", ".err"].map((suffix) =>
        readFileSync(output + suffix, "utf8"),
      );
      return { signal: signalOf(status), stdout, stderr };
    } finally {
      for (const suffix of [".out", ".err"]) rmSync(output + suffix, { force: true });
      if (this.#expected.size === 0) this.#mayEnd();
    }
  }

  #hear({ id, pid, status }: NurseryEvent): void {
    const expected = this.#expected.get(id);
    if (status === undefined) {
      expected?.born(pid);
      return;
    }
    this.#expected.delete(id);
    expected?.ended(status);
  }

  #fail(error: Error): void {
    for (const { failed } of this.#expected.values()) failed(error);
    this.#expected.clear();
  }

  /** It ends with the process that asks; that one has not to wait for it, but while something is asked. */
  #mayEnd(): void {
    this.#process.unref();
    for (const stream of this.#streams()) stream.unref();
  }

  #mustStay(): void {
    this.#process.ref();
    for (const stream of this.#streams()) stream.ref();
  }

  /** The pipes to a child are sockets, which its type does not say. */
  #streams(): { ref(): void; unref(): void }[] {
    return [this.#process.stdin, this.#process.stdout] as unknown as { ref(): void; unref(): void }[];
  }
}

/** By which signal it died, from the status of waitpid(2); null if by none. */
function signalOf(status: number): NodeJS.Signals | null {
  const number = status & 0x7f;
  if (number === 0) return null;
  const known = Object.entries(constants.signals).find(([, value]) => value === number);
  return (known?.[0] ?? `signal ${number}`) as NodeJS.Signals;
}
