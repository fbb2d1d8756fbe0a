import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { chmodSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Ended, program, Running, type RunOptions, Workplace } from "../end-to-end/workplace.ts";
import { endProcessesOf } from "../support/end-processes.ts";
import { IS_LONG, itInTurn } from "../support/long-form.ts";

/** Who runs drydock: root, if the tests do, or a user without privilege. */
export type Actor = "root" | "user";

/** Those that can be had here. */
export const ACTORS: readonly Actor[] = process.geteuid?.() === 0 ? ["root", "user"] : ["user"];

/**
 * For what is the same whoever runs drydock: an ordinary user in a normal run, each of them in a long one.
 */
export const ANY_ACTOR: readonly Actor[] = IS_LONG ? ACTORS : ["user"];

/** `it` for tests that are the same for each actor: in a normal run each test is played by one of them. */
export const inTurn = (actor: Actor) => itInTurn(actor, ACTORS);

const USER = 54321;

/** A place to run commands in, for one of them, with a home and a project of his own. */
export class Stage extends Workplace {
  readonly actor: Actor;
  readonly #running: Running[] = [];
  readonly home = join(this.path, "home");
  readonly project = join(this.path, "project");

  constructor(actor: Actor) {
    super();
    this.actor = actor;
    for (const folder of [this.home, this.project]) mkdirSync(folder);
    this.write("project/a.txt", "one\n");
    this.give();
  }

  /** Everything in here becomes the actor's. */
  give(): void {
    if (process.geteuid?.() !== 0) return;
    chmodSync(this.path, 0o755);
    const owner = this.actor === "root" ? 0 : USER;
    const { status } = spawnSync("chown", ["-hR", `${owner}:${owner}`, this.path]);
    assert.equal(status, 0);
  }

  /** Each is a process from its beginning: here, what a process is and who runs it is the point. */
  override drydock(args: readonly string[], options: RunOptions = {}): Ended {
    return this.run(program, args, options);
  }

  override run(file: string, args: readonly string[], options: RunOptions = {}): Ended {
    const [first = file, ...rest] = [...this.#prefix(), file, ...args];
    return super.run(first, rest, { cwd: this.project, ...options });
  }

  override start(args: readonly string[], env: NodeJS.ProcessEnv = {}): Running {
    return this.startProgram(program, args, env);
  }

  /** Starts any program as the actor. */
  protected startProgram(file: string, args: readonly string[], env: NodeJS.ProcessEnv): Running {
    const [first = file, ...rest] = [...this.#prefix(), file, ...args];
    const stdio = ["pipe", "pipe", "pipe"] as const;
    const environment = { ...this.environment, ...env };
    return this.#watched(
      new Running(spawn(first, rest, { cwd: this.project, env: environment, stdio: [...stdio] })),
    );
  }

  /** Starts a script of bash at a terminal of its own; what is typed there is its input. */
  terminal(script: string): Running {
    const [first = "script", ...rest] = [...this.#prefix(), "script", "-qec", script, "/dev/null"];
    const env = { ...this.environment, SHELL: "/bin/bash", TERM: "xterm" };
    return this.#watched(
      new Running(spawn(first, rest, { cwd: this.project, env, stdio: ["pipe", "pipe", "pipe"] })),
    );
  }

  /**
   * Starts a script of bash at a terminal of the user who runs the tests. What follows $ACTOR in it is done
   * by the actor, who has that terminal as after 'su': it may read and write it, and not open it again.
   */
  terminalOfAnother(script: string): Running {
    const env = { ...this.environment, TERM: "xterm", ACTOR: ["setsid", "-w", ...this.#prefix()].join(" ") };
    return this.#watched(
      new Running(
        spawn("script", ["-qec", script, "/dev/null"], {
          cwd: this.project,
          env: { ...env, SHELL: "/bin/bash" },
          stdio: ["pipe", "pipe", "pipe"],
        }),
      ),
    );
  }

  #watched(running: Running): Running {
    this.#running.push(running);
    return running;
  }

  override [Symbol.dispose](): void {
    for (const running of this.#running) running.signal("SIGKILL");
    endProcessesOf(this.path);
    super[Symbol.dispose]();
  }

  /** Runs a script of sh inside a new plan over the project; what it says is what the script says. */
  inside(script: string, ...options: readonly string[]): Ended {
    return this.drydock(["run", "--discard", ...options, "--", "sh", "-c", script]);
  }

  /** The same, and it must succeed. */
  insideDone(script: string, ...options: readonly string[]): string {
    const { status, stdout, stderr } = this.inside(script, ...options);
    assert.equal(status, 0, stderr);
    return stdout;
  }

  #prefix(): readonly string[] {
    if (this.actor === "root" || process.geteuid?.() !== 0) return [];
    return ["setpriv", `--reuid=${USER}`, `--regid=${USER}`, "--clear-groups", "--"];
  }
}
