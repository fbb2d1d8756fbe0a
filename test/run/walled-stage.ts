import type { Ended, RunOptions } from "../end-to-end/workplace.ts";
import { program, type Running } from "../end-to-end/workplace.ts";
import { Stage } from "./stage.ts";

/**
 * Without user namespaces: root of one in which no other can be made, as root of a container is; or its user
 * without any capability.
 */
const NONE = "echo 0 > /proc/sys/user/max_user_namespaces";
const ENTER = {
  root: ["--user", "--map-root-user", "--", "sh", "-c", `${NONE}; exec "$@"`, "sh"],
  user: [
    ...["--user", "--map-current-user", "--keep-caps", "--", "sh", "-c"],
    `${NONE}; exec setpriv --inh-caps=-all --ambient-caps=-all --bounding-set=-all -- "$@"`,
    "sh",
  ],
} as const;

/** A stage on a machine that gives no namespaces. */
export class WalledStage extends Stage {
  override run(file: string, args: readonly string[], options: RunOptions = {}): Ended {
    return super.run("unshare", [...ENTER[this.actor], file, ...args], options);
  }

  override start(args: readonly string[], env: NodeJS.ProcessEnv = {}): Running {
    return this.startProgram("unshare", [...ENTER[this.actor], program, ...args], env);
  }

  /** The words before a command of a shell. */
  get entering(): string {
    return ["unshare", ...ENTER[this.actor]].map((word) => `'${word}'`).join(" ");
  }
}
