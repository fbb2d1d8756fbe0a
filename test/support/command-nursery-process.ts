import {
  chmodSync,
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import vm, { Script, type ScriptOptions } from "node:vm";
import koffi from "koffi";
import { continueInFork, forkAll, leave, lines, noteHeap } from "./nursery-process.ts";
import { newPipe, type Pipe } from "./pipe.ts";

/**
 * The inside of a nursery of commands: a process that forks itself for each `drydock` that a test asks for.
 * The child is a process of its own that begins at bin/start.cjs, with its own arguments, environment,
 * folder and streams, and evaluates every module of the program itself. It only finds Node started and
 * the program compiled.
 *
 * Requests come in by standard input and answers go out by standard output, a line of JSON each, one at a
 * time.
 */
export interface CommandRequest {
  readonly args: readonly string[];
  readonly cwd: string;
  readonly environment: { readonly [name: string]: string };
  /** In base64; no more than a pipe holds. Without it, standard input is /dev/null. */
  readonly input?: string;
  readonly patienceMs: number;
}

/** Standard output and error are in base64. */
export interface CommandAnswer {
  /** That of waitpid(2). */
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly isLate: boolean;
}

/** Modules of Node that most commands load. */
const USED = [
  "child_process",
  "crypto",
  "fs/promises",
  "net",
  "readline",
  "sqlite",
  "timers/promises",
  "zlib",
];
const POLLIN = 1;
const CHUNK = 64 * 1024;

const [, , root = "", compiled = ""] = process.argv;
const program = join(root, "dist/program");
const scripts = new Map<string, Script>();

const libc = koffi.load(null);
const Poll = koffi.struct("pollfd", { fd: "int", events: "short", revents: "short" });
const calls = {
  poll: libc.func("poll", "int", [koffi.inout(koffi.pointer(Poll)), "ulong", "int"]),
  dup2: libc.func("int dup2(int, int)"),
  waitpid: libc.func("int waitpid(int, _Out_ int *, int)"),
};

prepare();
noteHeap();
for (const line of lines()) {
  const request = JSON.parse(line) as CommandRequest;
  const answer = serve(request);
  if (answer === "child") break;
  writeSync(1, `${JSON.stringify(answer)}\n`);
}

/** Loads what every command loads: modules of Node, and the program compiled. */
function prepare(): void {
  const require = createRequire(import.meta.url);
  for (const name of USED) require(`node:${name}`);
  setFlagsFromString("--no-flush-bytecode");
  for (const name of readdirSync(program).filter((each) => each.endsWith(".js"))) compile(name);
  // bin/compiled.cjs gets these instead of compiling again.
  const known = (filename = "") => scripts.get(filename);
  const Compiled = new Proxy(Script, {
    construct: (_, [source, options]: [string, ScriptOptions]) =>
      known(options.filename) ?? new Script(source, options),
  });
  Object.assign(vm, { Script: Compiled });
  const { load } = require(join(root, "bin/compiled.cjs"));
  for (const name of readdirSync(program).filter((each) => /^drydock-(?:later|rarely)-.*[.]js$/.test(each)))
    load(name);
}

/**
 * Compiles a module whole, or takes what another nursery of this run has compiled. The text is that which
 * bin/compiled.cjs makes of it.
 */
function compile(name: string): void {
  const filename = `${program}/${name}`;
  const text = readFileSync(filename, "latin1");
  const source = `(function (exports, require, module, __filename, __dirname) {${text}\n})`;
  const kept = join(compiled, name);
  const cachedData = readIfThere(kept);
  if (cachedData === undefined) setFlagsFromString("--no-lazy");
  const script = new Script(source, { filename, ...(cachedData !== undefined && { cachedData }) });
  scripts.set(filename, script);
  if (cachedData !== undefined) return;
  setFlagsFromString("--lazy");
  writeFileSync(`${kept}.${process.pid}`, script.createCachedData());
  chmodSync(`${kept}.${process.pid}`, 0o644);
  renameSync(`${kept}.${process.pid}`, kept);
}

function serve(request: CommandRequest): CommandAnswer | "child" {
  const [input, output, errors] = [newPipe(), newPipe(), newPipe()];
  const pid = forkAll();
  if (pid === 0) {
    begin(request, input, output, errors);
    return "child";
  }
  for (const fd of [input[0], output[1], errors[1]]) closeSync(fd);
  if (request.input !== undefined) writeInput(input[1], Buffer.from(request.input, "base64"));
  closeSync(input[1]);
  const { texts, isLate } = readAll([output[0], errors[0]], pid, request.patienceMs);
  const status = [0];
  calls.waitpid(pid, status, 0);
  const [stdout = "", stderr = ""] = texts;
  return { status: status[0] as number, stdout, stderr, isLate };
}

/** In the child: becomes a process that was started for a command. */
function begin(request: CommandRequest, input: Pipe, output: Pipe, errors: Pipe): void {
  continueInFork();
  const { args, cwd, environment } = request;
  const standardInput = request.input === undefined ? openSync("/dev/null", "r") : input[0];
  for (const [fd, at] of [standardInput, output[1], errors[1]].entries()) calls.dup2(at, fd);
  for (const fd of new Set([standardInput, ...input, ...output, ...errors])) closeSync(fd);
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, environment);
  process.chdir(cwd);
  const start = join(root, "bin/start.cjs");
  process.argv = [process.execPath, start, ...args];
  process.execArgv = [];
  endAtOnce();
  createRequire(import.meta.url)(start);
}

/** What Node does at its exit, after all that a program can see, waits for threads that a fork has not. */
function endAtOnce(): void {
  const emit = process.emit.bind(process) as (event: string, ...args: unknown[]) => boolean;
  Object.assign(process, {
    reallyExit: leave,
    emit(event: string, ...args: unknown[]): boolean {
      const isHeard = emit(event, ...args);
      if (event === "exit") leave(Number(process.exitCode ?? 0));
      return isHeard;
    },
  });
}

function writeInput(fd: number, bytes: Uint8Array): void {
  try {
    writeSync(fd, bytes);
  } catch (thrown) {
    // A command need not read its input.
    if ((thrown as NodeJS.ErrnoException).code !== "EPIPE") throw thrown;
  }
}

/** Reads until no process can write any more, or patience ends, and the child with it. */
function readAll(fds: readonly number[], pid: number, patienceMs: number) {
  const parts = fds.map((): Buffer[] => []);
  const end = performance.now() + patienceMs;
  let isLate = false;
  const chunk = Buffer.alloc(CHUNK);
  const open = new Set(fds.keys());
  while (open.size > 0) {
    const polled = [...open].map((index) => ({ fd: fds[index], events: POLLIN, revents: 0 }));
    const left = Math.ceil(end - performance.now());
    if (left <= 0) {
      process.kill(pid, "SIGKILL");
      isLate = true;
      break;
    }
    calls.poll(polled, polled.length, left);
    for (const [at, index] of [...open].entries()) {
      if (polled[at]?.revents === 0) continue;
      const length = readSync(fds[index] as number, chunk);
      if (length > 0) parts[index]?.push(Buffer.from(chunk.subarray(0, length)));
      else open.delete(index);
    }
  }
  for (const fd of fds) closeSync(fd);
  return { texts: parts.map((each) => Buffer.concat(each).toString("base64")), isLate };
}

function readIfThere(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== "ENOENT") throw thrown;
    return undefined;
  }
}
