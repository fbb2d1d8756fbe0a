import { availableParallelism, loadavg } from "node:os";
import { GitError, UnsupportedError } from "../../core/errors/errors.ts";
import { displayPath } from "../../core/paths/byte-path.ts";
import { type Failpoint, passFailpoint } from "../failpoints.ts";
import { programAmong, systemProgram } from "./programs.ts";
import { runProcess } from "./run-process.ts";

/**
 * The only code that runs git. Its commands are plumbing, by argument list, never through a shell. Paths
 * inside repositories are bytes, so they are passed and read NUL-terminated.
 *
 * A command gives the same answer whatever the user has configured: GIT_* variables of the user are dropped,
 * and settings that run other programs (hooks, file system monitors), change the output or start housekeeping
 * are off. Settings that decide the content of files (identity, line ends, filters, attributes) still apply,
 * wherever they are configured.
 *
 * A command names its repository by the git directory, and then git does not check who owns it. So a
 * repository of the user is first examined by `discover`, where git does check.
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

/** Variables that git, or a filter that it runs, needs to find the user's settings. */
const PASSED_ON = ["HOME", "XDG_CONFIG_HOME", "PATH", "TMPDIR", "USER", "LOGNAME", "SUDO_UID"];
const DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin";
const DEFAULT_LIMIT_MS = 60_000;
const LINES_SHOWN = 3;
const LINES_OF_HOOKS = 12;

type Environment = { readonly [name: string]: string | undefined };

/** A repository, and the index or worktree that a command uses with it. */
export interface GitContext {
  readonly gitDir: string;
  readonly workTree?: string;
  /** An index file instead of the repository's own. */
  readonly index?: string;
}

export interface GitOptions {
  readonly input?: Uint8Array;
  /** Settings for this command only. */
  readonly settings?: { readonly [key: string]: string };
  readonly environment?: { readonly [name: string]: string };
  /** Exit codes besides 0 that are an answer, not a failure. */
  readonly answers?: readonly number[];
  /** Receives the output piece by piece; then none is returned. */
  readonly onOutput?: (bytes: Buffer) => void;
  /** Called with the progress of a long command, if that reports it. */
  readonly onProgress?: (done: number, total: number) => void;
  /** Aborts the command. */
  readonly signal?: AbortSignal;
}

export interface GitAnswer {
  readonly code: number;
  readonly stdout: Buffer;
}

/** A hook with its arguments, and how it is run. */
export interface HookCall extends Pick<GitOptions, "environment" | "signal"> {
  readonly name: string;
  readonly args: readonly string[];
}

export class Git {
  readonly #environment: Environment;
  readonly #limitMs: number;
  #program: string | undefined;
  #version: string | undefined;

  /** A command that writes nothing for `limitMs` is ended. */
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

  /**
   * Runs a command in the repository that contains a folder, if git accepts that repository as this user's.
   */
  async discover(folder: string, args: readonly string[], options: GitOptions = {}): Promise<GitAnswer> {
    return await this.#run(folder, args, options);
  }

  /** The output of `git version`. */
  async version(folder: string): Promise<string> {
    this.#version ??= lineOf(await this.discover(folder, ["version"]));
    return this.#version;
  }

  /** Runs a command that changes nothing and writes one line; returns that line. */
  async line(context: GitContext, args: readonly string[], options: GitOptions = {}): Promise<string> {
    return lineOf(await this.look(context, args, options));
  }

  /**
   * Runs a hook of the user's repository, if there is one, as git itself does: with the user's settings and
   * environment and none of ours, because the hook would pass ours on. If the hook fails, the error holds its
   * output.
   */
  async hook(
    point: Failpoint,
    checkout: string,
    { name, args, environment, signal }: HookCall,
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

  /** The user's environment, without variables that lead git to another repository or other settings. */
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
 * The number of idle processors. Checking out files with more processes takes longer, and slows others down.
 */
function idleProcessors(): string {
  const [load = 0] = loadavg();
  return String(Math.max(1, Math.floor(availableParallelism() - load)));
}

/** A hook must not wait for input: there is no user to ask. */
const HOOK_VARIABLES = { GIT_EDITOR: ":", GIT_TERMINAL_PROMPT: "0" };

/** The output of a command that writes one line, without the line end. */
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

/** The last lines of git's error output, without progress lines. */
function lastLines(stderr: string, count = LINES_SHOWN): string {
  return stderr
    .split(/[\r\n]/)
    .filter((line) => line.trim() !== "" && !/^\w[\w ]*:\s+\d+% \(/.test(line))
    .slice(-count)
    .map(displayPath)
    .join("; ");
}
