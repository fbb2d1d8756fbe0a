import { appendFileSync } from "node:fs";
import { SystemCallError, UsageError } from "../core/errors/errors.ts";

/**
 * Failpoints: every step that touches the world passes one, by name, right before it happens.
 *
 * In normal life passing one costs a comparison. Armed by `DRYDOCK_FAILPOINT=name[:nth]=action[,…]` the
 * process
 * - `kill`: dies by SIGKILL, as in a crash,
 * - `error`, `enospc`, `eacces`: sees the step fail with EIO, ENOSPC or EACCES,
 * - `delay`: waits for a tenth of a second,
 * - `stop`: stops by SIGSTOP until somebody continues it, so that a test can act in between,
 * - `skip`: leaves a flush out, as if the disk had not done it; other steps take no notice.
 * With `:nth` only the nth pass acts, without it every one. `DRYDOCK_FAILPOINT_TRACE=FILE` appends the name
 * of each one passed to the file, which is how the crash suite finds the points of a path, and how a trace
 * shows which step each system call belongs to. `DRYDOCK_FAILPOINT_KILLS=FILE` appends the name of the one at
 * which the process dies, which is how a run of all tests sees that none is left out.
 */
export type Failpoint = string & { readonly brand: "failpoint" };

/**
 * Names a failpoint. The literal argument is what the generated list (test/failpoint-names.ts) is made from.
 */
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

/** Arms, or with nothing given disarms, the failpoints of this process. */
export function armFailpoints(specification: string | undefined, traceFile?: string): void {
  const traps =
    specification === undefined || specification === "" ? [] : specification.split(",").map(parseTrap);
  armed = traps.length === 0 && traceFile === undefined ? undefined : { traps, passes: new Map(), traceFile };
}

/** Passes a failpoint: does nothing, unless it is armed. Says whether the step is to be left out. */
export function passFailpoint(point: Failpoint): "go" | "skip" {
  return armed === undefined ? "go" : passArmed(armed, point);
}

/** Passes a failpoint of a strategy from outside. Its names are its own, so they are not in the list. */
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
