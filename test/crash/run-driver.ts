import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { ResourceRequest } from "../../src/plans/plan-views.ts";
import type { OverlayWay } from "../../src/strategies/overlay/ways.ts";
import { bundledProgram } from "../support/bundled-program.ts";
import type { SandboxCall } from "./sandbox-calls.ts";

/** What the driver is to do. Plans are meant by name. */
export interface DriverRequest {
  readonly operation:
    | "create"
    | "write"
    | "apply"
    | "undo"
    | "rollback"
    | "cancel"
    | "recover"
    | "give-up"
    | "save-plan"
    | "restore-plan"
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
  /** For `apply`: what lands, if not all. */
  readonly only?: readonly string[];
  /** Of a checkpoint. */
  readonly label?: string;
  /** For `write`: where to. */
  readonly resource?: string;
  readonly path?: string;
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

/** Runs the driver to its end, whatever end that is. */
export async function runDriver(request: DriverRequest, options: DriverOptions = {}): Promise<DriverEnd> {
  const { DRYDOCK_FAILPOINT: _, DRYDOCK_FAILPOINT_TRACE: __, NODE_OPTIONS: ___, ...inherited } = process.env;
  const command = [...(options.by ?? []), process.execPath, await builtDriver(), JSON.stringify(request)];
  const child = spawn(command[0] as string, command.slice(1), {
    env: {
      ...inherited,
      ...(options.failpoints !== undefined && { DRYDOCK_FAILPOINT: options.failpoints }),
      ...(options.trace !== undefined && { DRYDOCK_FAILPOINT_TRACE: options.trace }),
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  if (options.whenStopped !== undefined) await actWhenStopped(child, options.whenStopped);
  const [stdout, stderr, signal] = await Promise.all([textOf(child, "stdout"), textOf(child, "stderr"), endOf(child)]);
  const outcome = stdout === "" ? {} : (JSON.parse(stdout) as Pick<DriverEnd, "done" | "failed">);
  return { signal, stderr, ...outcome };
}

/** If it ends without stopping, that shows in what it says. */
async function actWhenStopped(child: ChildProcess, act: () => void | Promise<void>): Promise<void> {
  const isStopped = () => /^\d+ \(.*\) T /s.test(readFileSync(`/proc/${child.pid}/stat`, "latin1"));
  while (child.exitCode === null && child.signalCode === null) {
    if (isStopped()) {
      try {
        await act();
      } finally {
        child.kill("SIGCONT");
      }
      return;
    }
    await sleep(3);
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
