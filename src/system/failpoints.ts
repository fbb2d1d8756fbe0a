import { appendFileSync } from "node:fs";
import { SystemCallError, UsageError } from "../core/errors/errors.ts";

/**
 * Failpoints: every step that touches the world passes one, by name, right before it happens.
 *
 * A failpoint that is not armed costs one comparison. `DRYDOCK_FAILPOINT=name[:nth]=action[,…]` arms some; at
 * an armed one the process
 * - `kill`: dies by SIGKILL, as in a crash,
 * - `error`, `enospc`, `eacces`: sees the step fail with EIO, ENOSPC or EACCES,
 * - `delay`: waits for a tenth of a second,
 * - `stop`: stops by SIGSTOP until another process continues it, so that a test can act in between,
 * - `skip`: omits a flush, as if the disk had not done it; other steps ignore this.
 *
 * With `:nth` only the nth pass acts, without it every pass. `DRYDOCK_FAILPOINT_TRACE=FILE` appends each
 * passed name to the file: so the crash suite finds the points of a path, and a trace shows which step a
 * system call belongs to. `DRYDOCK_FAILPOINT_KILLS=FILE` appends the name at which the process dies: so a run
 * of all tests sees that none is left out.
 */
export type Failpoint = string & { readonly brand: "failpoint" };

/** Names a failpoint. The list in test/failpoint-names.ts is generated from the literal arguments. */
export function failpoint(name: string): Failpoint {
  return name as Failpoint;
}

export const FAILPOINT_ACTIONS = ["kill", "error", "enospc", "eacces", "delay", "stop", "skip"] as const;
type FailpointAction = (typeof FAILPOINT_ACTIONS)[number];

interface Trap {
  readonly name: string;
  readonly nth: number | undefined;
  readonly action: FailpointAction;
}

interface Armed {
  readonly traps: readonly Trap[];
  readonly passes: Map<string, number>;
  readonly traceFile: string | undefined;
}

let armed: Armed | undefined;

/** Arms the failpoints of this process; disarms them if there is no specification. */
export function armFailpoints(specification: string | undefined, traceFile?: string): void {
  const traps =
    specification === undefined || specification === "" ? [] : specification.split(",").map(parseTrap);
  armed = traps.length === 0 && traceFile === undefined ? undefined : { traps, passes: new Map(), traceFile };
}

/** Passes a failpoint: does nothing unless it is armed. Says whether to omit the step. */
export function passFailpoint(point: Failpoint): "go" | "skip" {
  return armed === undefined ? "go" : passArmed(armed, point);
}

/** Passes a failpoint of a custom strategy. Its names are not in the generated list. */
export function passForeignFailpoint(name: string): void {
  passFailpoint(name as Failpoint);
}

function passArmed({ traps, passes, traceFile }: Armed, point: Failpoint): "go" | "skip" {
  const pass = (passes.get(point) ?? 0) + 1;
  passes.set(point, pass);
  if (traceFile !== undefined) appendFileSync(traceFile, `failpoint ${point}\n`);
  const acting = traps.filter(({ name, nth }) => name === point && (nth === undefined || nth === pass));
  for (const { action } of acting) act(action, point);
  return acting.some(({ action }) => action === "skip") ? "skip" : "go";
}

function act(action: FailpointAction, point: Failpoint): void {
  switch (action) {
    case "kill":
      die(point);
      return;
    case "stop":
      process.kill(process.pid, "SIGSTOP");
      return;
    case "delay":
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
      return;
    case "skip":
      return;
    case "error":
      throw new SystemCallError("EIO", `failpoint ${point}`, "the place it stands for", "input/output error");
    case "enospc":
      throw new SystemCallError(
        "ENOSPC",
        `failpoint ${point}`,
        "the place it stands for",
        "no space left on device",
      );
    case "eacces":
      throw new SystemCallError(
        "EACCES",
        `failpoint ${point}`,
        "the place it stands for",
        "permission denied",
      );
  }
}

function die(point: Failpoint): void {
  // biome-ignore lint/style/noProcessEnv: it is for the process that dies, whoever armed it and with which environment.
  const record = process.env["DRYDOCK_FAILPOINT_KILLS"];
  if (record !== undefined) appendFileSync(record, `${point}\n`);
  process.kill(process.pid, "SIGKILL");
}

function parseTrap(text: string): Trap {
  const match = /^(?<name>[a-z][a-z0-9.-]*)(?::(?<nth>[1-9]\d*))?=(?<action>[a-z]+)$/.exec(text.trim());
  const action = FAILPOINT_ACTIONS.find((known) => known === match?.groups?.["action"]);
  if (match?.groups === undefined || action === undefined) {
    throw new UsageError(`'${text}' is not a failpoint.`, {
      hint: `Write name[:nth]=action with one of ${FAILPOINT_ACTIONS.join(", ")}.`,
    });
  }
  const { name = "", nth } = match.groups;
  return { name, nth: nth === undefined ? undefined : Number(nth), action };
}
