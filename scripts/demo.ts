import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * The main job, end to end, on folders that the demo makes and removes: two folders changed in one plan, the
 * diff, an apply killed in the middle, recovery, undo, and a conflict that is refused. Every command is the
 * real one, run as a user would. A step that does not end as it should fails the demo.
 */
const drydock = join(import.meta.dirname, "..", "bin", "drydock");
const home = mkdtempSync(join(tmpdir(), "drydock-demo-"));
const environment = { ...process.env, DRYDOCK_STATE_DIR: join(home, "state"), NO_COLOR: "1" };

function say(text: string): void {
  process.stdout.write(`\n# ${text}\n`);
}

/** Runs a command as a shell would, shows it, and sees that it ends as it should. */
function run(
  args: readonly string[],
  expected: {
    readonly code?: number;
    readonly signal?: string;
    readonly input?: string;
    readonly env?: object;
  } = {},
): string {
  process.stdout.write(
    `$ ${expected.input === undefined ? "" : `echo ${JSON.stringify(expected.input.trim())} | `}drydock ${args.map(quoted).join(" ")}\n`,
  );
  const result = spawnSync(drydock, args, {
    cwd: home,
    env: { ...environment, ...expected.env },
    input: expected.input ?? "",
    encoding: "utf8",
  });
  process.stdout.write(result.stdout + result.stderr);
  const ended = result.signal ?? result.status;
  const wanted = expected.signal ?? expected.code ?? 0;
  if (ended !== wanted) throw new Error(`this ended with ${ended}, not with ${wanted}`);
  if (wanted !== 0) process.stdout.write(`(ended with ${wanted})\n`);
  return result.stdout;
}

function quoted(argument: string): string {
  return /^[\w./=:,@-]+$/.test(argument) ? argument : `'${argument}'`;
}

function file(path: string): string {
  return readFileSync(join(home, path), "utf8");
}

function expectContent(path: string, content: string): void {
  process.stdout.write(`$ cat ${path}\n${file(path)}`);
  if (file(path) !== content) throw new Error(`${path} should hold ${JSON.stringify(content)}`);
}

function makeFolders(): void {
  for (const folder of ["app", "settings"]) mkdirSync(join(home, folder));
  writeFileSync(join(home, "app", "server.txt"), "port 80\nhost localhost\n");
  writeFileSync(join(home, "app", "old-notes.txt"), "nobody needs this\n");
  writeFileSync(join(home, "settings", "limits.txt"), "connections 10\n");
}

/**
 * By a command inside, because not every sandbox has a path for an ordinary user; or at its path, because not
 * every machine can run one.
 */
function removeInside(plan: string, resource: string, path: string): void {
  const { stdout } = spawnSync(drydock, ["doctor", "--json"], {
    cwd: home,
    env: environment,
    encoding: "utf8",
  });
  const checks: readonly { readonly name: string; readonly ok: boolean }[] = JSON.parse(stdout).checks;
  if (checks.some(({ name, ok }) => name === "run" && ok)) run(["plan", "exec", plan, "--", "rm", path]);
  else rmSync(join(run(["plan", "path", plan, resource]).trim(), path));
}

function changeInPlan(): void {
  say("Two folders, one plan. Each gets an isolated copy.");
  run(["plan", "create", "--name", "release", "-r", "app", "-r", "settings"]);
  run(["plan", "write", "release", "app", "server.txt"], { input: "port 8080\nhost localhost\n" });
  run(["plan", "write", "release", "settings", "limits.txt"], { input: "connections 500\n" });
  removeInside("release", "app", "old-notes.txt");
  say("What would change; the originals are as they were.");
  run(["plan", "diff", "release", "--patch"]);
  expectContent("app/server.txt", "port 80\nhost localhost\n");
}

function killAndRecover(): void {
  say("Apply, and kill -9 in the middle: after the first file has landed, before the second.");
  run(["plan", "apply", "release"], { signal: "SIGKILL", env: { DRYDOCK_FAILPOINT: "land.remove=kill" } });
  say("The next command, whatever it is, finishes what was decided.");
  run(["plan", "show", "release"]);
  expectContent("app/server.txt", "port 8080\nhost localhost\n");
  expectContent("settings/limits.txt", "connections 500\n");
}

function takeBack(): void {
  say("Take all of it back.");
  run(["plan", "undo", "release"]);
  expectContent("app/server.txt", "port 80\nhost localhost\n");
  expectContent("settings/limits.txt", "connections 10\n");
}

function refuseConflict(): void {
  say("Another writer edits a file that the plan edits too: nothing lands, nothing is overwritten.");
  run(["plan", "create", "--name", "second", "-r", "app", "-r", "settings"]);
  run(["plan", "write", "second", "app", "server.txt"], { input: "port 9090\n" });
  run(["plan", "write", "second", "settings", "limits.txt"], { input: "connections 1\n" });
  writeFileSync(join(home, "app", "server.txt"), "port 443\n");
  run(["plan", "apply", "second"], { code: 3 });
  expectContent("app/server.txt", "port 443\n");
  expectContent("settings/limits.txt", "connections 10\n");
  run(["plan", "cancel", "second"]);
}

try {
  makeFolders();
  changeInPlan();
  killAndRecover();
  takeBack();
  refuseConflict();
  say("Done: all or nothing, through a crash, and back again.");
} catch (thrown) {
  process.stderr.write(`\nthe demo failed: ${thrown instanceof Error ? thrown.message : String(thrown)}\n`);
  process.exitCode = 1;
} finally {
  rmSync(home, { recursive: true, force: true });
}
