import { availableParallelism, loadavg } from "node:os";
import { GitError, UnsupportedError } from "../../core/errors/errors.ts";
import { displayPath } from "../../core/paths/byte-path.ts";
import { type Failpoint, passFailpoint } from "../failpoints.ts";
import { programAmong, systemProgram } from "./programs.ts";
import { runProcess } from "./run-process.ts";

/**
 * The one place that runs git. Its commands are plumbing, by argument list, never through a shell; paths
 * inside repositories go in and come out NUL-terminated, because they are bytes.
 *
 * A command says the same whatever the user has configured: his environment's GIT_* variables are left out,
 * and what would run other programs (hooks, file system monitors), change the output or start housekeeping is
 * switched off. What says what files hold (identity, line ends, filters, attributes) still counts, wherever
 * it is configured.
 *
 * A repository is named by its git directory, and then git does not ask whose it is. So a repository of the
 * user's is first looked at by `discover`, where it does.
 */
const SETTINGS = {
  "core.hooksPath": "/dev/null",
  "core.fsmonitor": "false",
  "core.splitIndex": "false",
  "core.untrackedCache": "keep",
  "core.quotePath": "false",
  "core.trustctime": "true",
  "core.checkStat": "default",
  "core.pager": "cat",
  "gc.auto": "0",
  "maintenance.auto": "false",
  "color.ui": "false",
  "submodule.recurse": "false",
  "fetch.recurseSubmodules": "false",
  "fetch.writeCommitGraph": "false",
  "i18n.commitEncoding": "UTF-8",
  "protocol.allow": "never",
  "protocol.file.allow": "always",
};

/** Variables of the user's that git, or a filter that it runs, needs to find his settings. */
const PASSED_ON = ["HOME", "XDG_CONFIG_HOME", "PATH", "TMPDIR", "USER", "LOGNAME", "SUDO_UID"];
const DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin";
const DEFAULT_LIMIT_MS = 60_000;
const LINES_SHOWN = 3;
const LINES_OF_HOOKS = 12;

type Environment = { readonly [name: string]: string | undefined };

/** A repository, and with what of its own a command works on it. */
export interface GitContext {
  readonly gitDir: string;
  readonly workTree?: string;
  /** An index file instead of the repository's own. */
  readonly index?: string;
}

export interface GitOptions {
  readonly input?: Uint8Array;
  /** Settings of this one command. */
  readonly settings?: { readonly [key: string]: string };
  readonly environment?: { readonly [name: string]: string };
  /** Exit codes besides 0 that are an answer and no failure. */
  readonly answers?: readonly number[];
  /** Gets the output piece by piece instead of it being returned. */
  readonly onOutput?: (bytes: Buffer) => void;
  /** Told how far a long command has come, if it is one that says so. */
  readonly onProgress?: (done: number, total: number) => void;
  /** Aborting it ends the command. */
  readonly signal?: AbortSignal;
}

export interface GitAnswer {
  readonly code: number;
  readonly stdout: Buffer;
}

export class Git {
  readonly #environment: Environment;
  readonly #limitMs: number;
  #program: string | undefined;
  #version: string | undefined;

  /** `limitMs`: for how long a command may say nothing before it is ended. */
  constructor(environment: Environment, limitMs: number = DEFAULT_LIMIT_MS) {
    this.#environment = environment;
    this.#limitMs = limitMs;
  }

  /** Runs a command that changes nothing. */
  async look(context: GitContext, args: readonly string[], options: GitOptions = {}): Promise<GitAnswer> {
    return await this.#run(context.workTree ?? context.gitDir, args, {
      ...options,
      environment: placing(context, options),
    });
  }

  /** Runs a command that changes something. */
  async change(
    point: Failpoint,
    context: GitContext,
    args: readonly string[],
    options: GitOptions = {},
  ): Promise<GitAnswer> {
    passFailpoint(point);
    return await this.look(context, args, options);
  }

  /** Runs a command in whatever repository a folder is in, if git finds that one to be this user's. */
  async discover(folder: string, args: readonly string[], options: GitOptions = {}): Promise<GitAnswer> {
    return await this.#run(folder, args, options);
  }

  /** What git says of its version. */
  async version(folder: string): Promise<string> {
    this.#version ??= lineOf(await this.discover(folder, ["version"]));
    return this.#version;
  }

  /** One line that a command says, without its end. */
  async line(context: GitContext, args: readonly string[], options: GitOptions = {}): Promise<string> {
    return lineOf(await this.look(context, args, options));
  }

  /**
   * Runs a hook of the user's in his checkout, if there is one, as git itself does: with his settings and his
   * environment, and none of ours, because what a hook starts would have them too. If it fails, what it had
   * to say is in the error.
   */
  async hook(
    point: Failpoint,
    checkout: string,
    name: string,
    args: readonly string[],
    { environment, signal }: Pick<GitOptions, "environment" | "signal">,
  ): Promise<void> {
    passFailpoint(point);
    const command = ["hook", "run", "--ignore-missing", name, "--", ...args];
    const { code, stderr, tookTooLong } = await runProcess(
      {
        file: this.#find(),
        args: command,
        cwd: checkout,
        environment: { PATH: DEFAULT_PATH, ...this.#ofUser(), ...HOOK_VARIABLES, ...environment },
      },
      { limitMs: this.#limitMs, ...(signal !== undefined && { signal }) },
    );
    if (!tookTooLong && code === 0) return;
    const said = lastLines(stderr, LINES_OF_HOOKS);
    throw tookTooLong ? timeout(command, said, this.#limitMs) : failure(command, code, said);
  }

  async #run(cwd: string, args: readonly string[], options: GitOptions): Promise<GitAnswer> {
    const settings = Object.entries({
      ...SETTINGS,
      "checkout.workers": idleProcessors(),
      ...options.settings,
    });
    const { onProgress } = options;
    const { code, stdout, stderr, tookTooLong } = await runProcess(
      {
        file: this.#find(),
        args: [...settings.flatMap(([key, value]) => ["-c", `${key}=${value}`]), ...args],
        cwd,
        environment: { ...this.#inherited(), ...OWN_VARIABLES, ...options.environment },
      },
      {
        limitMs: this.#limitMs,
        ...(options.input !== undefined && { input: options.input }),
        ...(options.onOutput !== undefined && { onOutput: options.onOutput }),
        ...(options.signal !== undefined && { signal: options.signal }),
        ...(onProgress !== undefined && { onSaid: (text) => tellProgress(text, onProgress) }),
      },
    );
    if (!tookTooLong && code !== undefined && (code === 0 || options.answers?.includes(code) === true))
      return { code, stdout };
    const said = lastLines(stderr);
    throw tookTooLong ? timeout(args, said, this.#limitMs) : failure(args, code, said);
  }

  #inherited(): { [name: string]: string } {
    const kept = PASSED_ON.flatMap((name) => {
      const value = this.#environment[name];
      return value === undefined ? [] : [[name, value] as const];
    });
    return { PATH: DEFAULT_PATH, ...Object.fromEntries(kept) };
  }

  /** Everything that he has set, but for what leads git to another repository, or to other settings. */
  #ofUser(): { [name: string]: string } {
    const all = Object.entries(this.#environment);
    return Object.fromEntries(
      all.flatMap(([name, value]) => (value === undefined || name.startsWith("GIT_") ? [] : [[name, value]])),
    );
  }

  #find(): string {
    this.#program ??= onPath(this.#environment["PATH"]) ?? systemProgram("git");
    if (this.#program !== undefined) return this.#program;
    throw new UnsupportedError("git is not installed.", {
      hint: "Install git 2.38 or later.",
      code: "NO_GIT",
    });
  }
}

const OWN_VARIABLES = {
  LC_ALL: "C",
  GIT_TERMINAL_PROMPT: "0",
  GIT_OPTIONAL_LOCKS: "0",
  GIT_LITERAL_PATHSPECS: "1",
  GIT_NO_REPLACE_OBJECTS: "1",
  GIT_EDITOR: ":",
  GIT_PROGRESS_DELAY: "1",
};

/**
 * Files are written by as many processes at once as have nobody to wait for; more take longer than one does,
 * and from others.
 */
function idleProcessors(): string {
  const [load = 0] = loadavg();
  return String(Math.max(1, Math.floor(availableParallelism() - load)));
}

/** Nobody is there to be asked. */
const HOOK_VARIABLES = { GIT_EDITOR: ":", GIT_TERMINAL_PROMPT: "0" };

/** The first line of what a command said. */
export function lineOf({ stdout }: GitAnswer): string {
  return stdout.toString().replace(/\n$/, "");
}

/** Lines such as `Updating files:  12% (6/50)`; the last one counts. */
function tellProgress(text: string, tell: (done: number, total: number) => void): void {
  const [, done, total] = [...text.matchAll(/\((\d+)\/(\d+)\)/g)].at(-1) ?? [];
  if (done !== undefined && total !== undefined) tell(Number(done), Number(total));
}

function placing(
  { gitDir, workTree, index }: GitContext,
  { environment }: GitOptions,
): { [name: string]: string } {
  return {
    GIT_DIR: gitDir,
    ...(workTree !== undefined && { GIT_WORK_TREE: workTree }),
    ...(index !== undefined && { GIT_INDEX_FILE: index }),
    ...environment,
  };
}

function onPath(path: string | undefined): string | undefined {
  const folders = (path ?? "").split(":").filter((folder) => folder.startsWith("/"));
  return programAmong(folders, "git");
}

function timeout(args: readonly string[], said: string, limitMs: number): GitError {
  const after = said === "" ? "" : `: ${said}`;
  return new GitError(
    `git ${args[0]} had nothing to say for ${limitMs / 1000} seconds and was ended${after}.`,
    {
      command: commandText(args),
      exitCode: undefined,
      said,
      code: "GIT_TIMEOUT",
      hint: "See what git waits for: a lock, a slow disk, a filter. sandbox.git.timeout in the config says how long it may take.",
    },
  );
}

function failure(args: readonly string[], exitCode: number | undefined, said: string): GitError {
  const how = exitCode === undefined ? "was ended by a signal" : `failed with exit code ${exitCode}`;
  return new GitError(`git ${args[0]} ${how}: ${said || "it did not say why"}`, {
    command: commandText(args),
    exitCode,
    said,
  });
}

function commandText(args: readonly string[]): string {
  return `git ${args.join(" ")}`.slice(0, 200);
}

/** The last lines of what git said, without those that only tell how far it is. */
function lastLines(stderr: string, count = LINES_SHOWN): string {
  return stderr
    .split(/[\r\n]/)
    .filter((line) => line.trim() !== "" && !/^\w[\w ]*:\s+\d+% \(/.test(line))
    .slice(-count)
    .map(displayPath)
    .join("; ");
}
