import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, mkdirSync, mkdtempSync, readSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundledProgram } from "./bundled-program.ts";
import type { CommandAnswer, CommandRequest } from "./command-nursery-process.ts";
import { IS_LONG } from "./long-form.ts";
import { NURSERY_FLAGS } from "./nursery-process.ts";
import { newPipe } from "./pipe.ts";

const root = join(import.meta.dirname, "../..");
/** As in bin/drydock. */
const YOUNG = ["--min-semi-space-size=4", "--max-semi-space-size=4"];
const CHUNK = 64 * 1024;

/** A command, as a test has it. */
export interface Command {
  readonly args: readonly string[];
  readonly cwd: string;
  readonly environment: NodeJS.ProcessEnv;
  readonly input: string | Uint8Array | undefined;
  readonly patienceMs: number;
}

/**
 * In a long run each command is a process from its beginning; so it is where its coverage counts, which a
 * fork could not tell, and from source.
 */
const IS_FORKED =
  !IS_LONG &&
  process.env["NODE_V8_COVERAGE"] === undefined &&
  process.env["DRYDOCK_FROM_SOURCE"] === undefined;
/** Commands whose own process matters: bin/drydock gives Node other flags for them. */
const OF_PROCESSES = /^(?:run|shell|plan exec)\b/;
/** So many commands are cheaper than a nursery. */
const COLD_COMMANDS = 3;
let nursery: CommandNursery | undefined;
let commands = 0;

/** Runs `drydock` to its end; undefined if this is for a process from its beginning. */
export function runCommand({ args, cwd, environment, input, patienceMs }: Command) {
  commands += 1;
  const bytes = input === undefined ? undefined : Buffer.from(input);
  const strings = [...args, cwd, ...Object.values(environment)];
  // Bytes that are not UTF-8 are only known to the kernel, and only of a process that was started with them.
  const isExact = strings.every((text) => !text?.includes("\ufffd"));
  // What changes Node is read at its start.
  const isPlain = !Object.keys(environment).some((name) => name.startsWith("NODE_"));
  const canFork = isExact && isPlain && !OF_PROCESSES.test(args.join(" ")) && (bytes?.length ?? 0) < CHUNK;
  if (!IS_FORKED || !canFork || commands <= COLD_COMMANDS) return undefined;
  nursery ??= new CommandNursery();
  const set = Object.entries(environment).filter(([, value]) => value !== undefined);
  const answer = nursery.run({
    args,
    cwd,
    environment: Object.fromEntries(set) as { readonly [name: string]: string },
    ...(bytes !== undefined && { input: bytes.toString("base64") }),
    patienceMs,
  });
  if (answer.isLate) throw new Error(`drydock ${args.join(" ")} has not ended after ${patienceMs} ms`);
  const [stdout, stderr] = [answer.stdout, answer.stderr].map((text) =>
    Buffer.from(text, "base64").toString(),
  );
  // A process that died by a signal has no exit code.
  const status = (answer.status & 0x7f) === 0 ? answer.status >> 8 : null;
  return { status, stdout: stdout as string, stderr: stderr as string };
}

/** Runs `drydock` many times, each time in a process of its own; see command-nursery-process.ts. */
class CommandNursery {
  readonly #process: ChildProcess;
  readonly #requests: number;
  readonly #answers: number;
  #text = "";

  constructor() {
    const [requests, answers] = [newPipe(), newPipe()];
    const program = bundledProgram("test/support/command-nursery-process.ts");
    this.#process = spawn(process.execPath, [...NURSERY_FLAGS, ...YOUNG, program, root, compiledFolder()], {
      cwd: "/",
      env: { PATH: process.env["PATH"] },
      stdio: [requests[0], answers[1], "inherit"],
    });
    closeSync(requests[0]);
    closeSync(answers[1]);
    this.#requests = requests[1];
    this.#answers = answers[0];
    // It ends when nothing can ask any more.
    this.#process.unref();
  }

  /** Runs it to its end. */
  run(request: CommandRequest): CommandAnswer {
    const bytes = Buffer.from(`${JSON.stringify(request)}\n`);
    for (let from = 0; from < bytes.length; ) from += writeSync(this.#requests, bytes, from);
    const chunk = Buffer.alloc(CHUNK);
    while (!this.#text.endsWith("\n")) {
      const length = readSync(this.#answers, chunk);
      if (length === 0)
        throw new Error(`The nursery has ended instead of running ${request.args.join(" ")}.`);
      this.#text += chunk.toString("latin1", 0, length);
    }
    const answer = JSON.parse(this.#text) as CommandAnswer;
    this.#text = "";
    return answer;
  }
}

/** Where nurseries of one run keep what they compiled. */
function compiledFolder(): string {
  const shared = process.env["DRYDOCK_TEST_BUNDLES"];
  if (shared === undefined) {
    const own = mkdtempSync(join(tmpdir(), "drydock-compiled-"));
    process.once("exit", () => rmSync(own, { recursive: true, force: true }));
    return own;
  }
  const folder = join(shared, "commands");
  mkdirSync(folder, { recursive: true });
  return folder;
}
