import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { ResourceRequest } from "../../src/plans/plan-views.ts";
import type { OverlayWay } from "../../src/strategies/overlay/layout.ts";
import { bundledProgram } from "../support/bundled-program.ts";
import { type ChildEnd, Nursery } from "../support/nursery.ts";
import type { SandboxCall } from "./sandbox-calls.ts";

/** What the driver is to do. Plans are meant by name. */
export interface DriverRequest {
  readonly operation:
    | "create"
    | "add"
    | "write"
    | "apply"
    | "undo"
    | "rollback"
    | "cancel"
    | "recover"
    | "give-up"
    | "save-plan"
    | "restore-plan"
    | "update-plan"
    | "resolve-path"
    | "purge"
    | "expire"
    | SandboxCall;
  readonly stateDir: string;
  readonly plan: string;
  readonly resources?: readonly ResourceRequest[];
  /** A config file. */
  readonly config?: string;
  /** The ways in which `overlay_in_one_way` may mount. */
  readonly ways?: readonly OverlayWay[];
  /** For `apply` and `rollback`: what lands or goes, if not all. */
  readonly only?: readonly string[];
  /** Lands what votes approve. */
  readonly approvedPart?: boolean;
  /** Of a checkpoint. */
  readonly label?: string;
  /** For `write`: where to. */
  readonly resource?: string;
  readonly path?: string;
  /** For `resolve-path`: which path. */
  readonly conflict?: string;
}

export interface DriverError {
  readonly name: string;
  readonly message: string;
  readonly details: { readonly [key: string]: unknown };
  readonly stack: string;
  readonly cause?: string;
}

/** How it ended: by a signal, or with what it did or why it failed. */
export interface DriverEnd {
  readonly signal: NodeJS.Signals | null;
  readonly done?: { readonly [key: string]: unknown };
  readonly failed?: DriverError;
  readonly stderr: string;
}

/** The driver, or the one that a test run as another user was given. */
export async function builtDriver(): Promise<string> {
  return process.env["DRYDOCK_TEST_DRIVER"] ?? bundledProgram("test/crash/driver.ts");
}

export interface DriverOptions {
  /** DRYDOCK_FAILPOINT */
  readonly failpoints?: string;
  /** DRYDOCK_FAILPOINT_TRACE */
  readonly trace?: string;
  /** Run by another program, such as strace with its options. */
  readonly by?: readonly string[];
  /** What somebody does when it has stopped at a failpoint, before it goes on. */
  readonly whenStopped?: () => void | Promise<void>;
}

/**
 * In a long run each is a process from its beginning; so it is where its coverage counts, which a fork could
 * not tell.
 */
const IS_FORKED = process.env["DRYDOCK_TEST"] !== "long" && process.env["NODE_V8_COVERAGE"] === undefined;
let nursery: Nursery | undefined;

/** Runs the driver to its end, whatever end that is. */
export async function runDriver(request: DriverRequest, options: DriverOptions = {}): Promise<DriverEnd> {
  const end =
    IS_FORKED && options.by === undefined ? await runFork(request, options) : await runNew(request, options);
  const outcome = end.stdout === "" ? {} : (JSON.parse(end.stdout) as Pick<DriverEnd, "done" | "failed">);
  return { signal: end.signal, stderr: end.stderr, ...outcome };
}

async function runFork(request: DriverRequest, options: DriverOptions): Promise<ChildEnd> {
  nursery ??= new Nursery(await builtDriver(), inherited());
  const { whenStopped } = options;
  return await nursery.run(
    JSON.stringify(request),
    armed(options),
    whenStopped && ((pid, isAlive) => actWhenStopped(pid, isAlive, whenStopped)),
  );
}

async function runNew(request: DriverRequest, options: DriverOptions): Promise<ChildEnd> {
  const command = [...(options.by ?? []), process.execPath, await builtDriver(), JSON.stringify(request)];
  const child = spawn(command[0] as string, command.slice(1), {
    env: { ...inherited(), ...armed(options) },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const isAlive = () => child.exitCode === null && child.signalCode === null;
  if (options.whenStopped !== undefined) await actWhenStopped(child.pid ?? 0, isAlive, options.whenStopped);
  const [stdout, stderr, signal] = await Promise.all([
    textOf(child, "stdout"),
    textOf(child, "stderr"),
    endOf(child),
  ]);
  return { stdout, stderr, signal };
}

function inherited(): NodeJS.ProcessEnv {
  const {
    DRYDOCK_FAILPOINT: _,
    DRYDOCK_FAILPOINT_TRACE: __,
    NODE_OPTIONS: ___,
    ...environment
  } = process.env;
  return environment;
}

function armed({ failpoints, trace }: DriverOptions): { readonly [name: string]: string } {
  return {
    ...(failpoints !== undefined && { DRYDOCK_FAILPOINT: failpoints }),
    ...(trace !== undefined && { DRYDOCK_FAILPOINT_TRACE: trace }),
  };
}

/** If it ends without stopping, that shows in what it says. */
async function actWhenStopped(
  pid: number,
  isAlive: () => boolean,
  act: () => void | Promise<void>,
): Promise<void> {
  while (isAlive()) {
    if (isStopped(pid)) {
      try {
        await act();
      } finally {
        process.kill(pid, "SIGCONT");
      }
      return;
    }
    await sleep(3);
  }
}

function isStopped(pid: number): boolean {
  try {
    return /^\d+ \(.*\) T /s.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    // It has ended, which is known in a moment.
    return false;
  }
}

async function textOf(child: ChildProcess, stream: "stdout" | "stderr"): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of child[stream] ?? []) parts.push(part as Buffer);
  return Buffer.concat(parts).toString();
}

function endOf(child: ChildProcess): Promise<NodeJS.Signals | null> {
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (_code, signal) => resolve(signal));
  });
}
