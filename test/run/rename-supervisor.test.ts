import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  constants,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
} from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { commandOf, readIfThere, SUPERVISOR_NAME } from "../../src/system/process/processes.ts";
import { perlLine } from "../security/system-calls.ts";
import { IS_LONG } from "../support/long-form.ts";
import { Stage } from "./stage.ts";

const TIME = new Date("2020-01-01T00:00:00Z");

/** Renames a new folder thousands of times, which V8 collects garbage for, and then one of the original. */
const OFTEN = `mkdir "new-0";
rename("new-$_", "new-" . ($_ + 1)) or die "new-$_: $!" for 0 .. 2999;
rename("src", "other") && rename("other", "src") or die "src: $!";
print "done\\n"`;

/** An ordinary user's project with folders that a command renames. */
class RenamingStage extends Stage {
  plan = "";

  constructor() {
    super("user");
    copyFileSync(process.execPath, this.node, constants.COPYFILE_FICLONE);
    for (const folder of ["src/deep", "full", "empty"])
      mkdirSync(join(this.project, folder), { recursive: true });
    for (const file of ["src/a", "src/deep/b", "full/c"]) this.write(`project/${file}`, `${file}\n`);
    this.give();
  }

  /** The project of the tests may be in a temporary folder, which looks empty to a user's command. */
  get node(): string {
    return join(this.home, "node");
  }

  at(path: string): string {
    return join(this.project, path);
  }

  create(): string {
    this.plan = this.done("plan", "create", "-r", `${this.project},strategy=overlay`).trim();
    return this.plan;
  }

  exec(script: string): string {
    return this.done("plan", "exec", this.plan, "--", "sh", "-ec", script);
  }

  /** A script for Node, in a file of the project. */
  script(text: string): string {
    this.write("project/script.cjs", `const fs = require("node:fs");\n${text}`);
    this.give();
    return `${this.node} script.cjs`;
  }
}

describe("A folder of the original that an ordinary user's command renames", () => {
  it("[O2] is renamed by mv, Node, Perl and git, lands with all that is in it, and comes back by an undo", () => {
    using stage = new RenamingStage();
    for (const path of ["src/a", "src/deep/b", "src/deep", "src"]) utimesSync(stage.at(path), TIME, TIME);
    const git = (...args: readonly string[]) =>
      stage.run("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args]).stdout;
    git("init", "-q");
    git("add", ".");
    git("commit", "-qm", "begin");
    stage.create();
    stage.exec(`git mv src lib
      ${stage.node} -e "fs.renameSync('lib/deep', 'top')"
      perl -e 'rename("full", "empty") or die $!'
      mv -T top other; echo more >> lib/a`);
    stage.done("plan", "apply", stage.plan, "--allow", "all");
    assert.match(git("status", "--porcelain"), /^RM src\/a -> lib\/a$/m);
    assert.deepEqual(readdirSync(stage.project).sort(), [".git", "a.txt", "empty", "lib", "other"]);
    assert.equal(readFileSync(stage.at("lib/a"), "utf8"), "src/a\nmore\n");
    assert.equal(readFileSync(stage.at("empty/c"), "utf8"), "full/c\n");
    for (const path of ["other", "other/b"])
      assert.equal(statSync(stage.at(path)).mtimeMs, TIME.getTime(), path);
    stage.done("plan", "undo", stage.plan);
    assert.equal(readFileSync(stage.at("src/deep/b"), "utf8"), "src/deep/b\n");
    assert.equal(existsSync(stage.at("lib")), false);
  });

  it("[O2] keeps modes, times, attributes, links, and what has its files open", () => {
    using stage = new RenamingStage();
    stage.run("sh", ["-ec", PECULIAR]);
    const before = stage.run("sh", ["-ec", `cd src; ${LOOK}`]).stdout;
    assert.match(before, /user\.note="kept"/);
    stage.create();
    const said = stage.exec(`exec 5<src/a 6>>src/deep/b; ${stage.node} -e "fs.renameSync('src', 'lib')"
      cat <&5; echo more >&6; tail -n 1 lib/deep/b; echo; cd lib; ${LOOK}`);
    const [open, after] = said.split("\n\n");
    assert.equal(open, "src/a\nmore");
    const withoutSize = (text: string) => text.replace(/^(\S*b \S+) \d+ .*/m, "$1");
    assert.equal(withoutSize(`${after}`), withoutSize(before).trimEnd());
  });

  it("[O2] gives a program the errors of a plain folder, and the same tree after random renames", () => {
    using stage = new RenamingStage();
    const script = stage.script(RANDOM_RENAMES);
    const plain = join(stage.path, "plain");
    cpSync(stage.project, plain, { recursive: true, preserveTimestamps: true });
    stage.give();
    const expected = stage.run("sh", ["-ec", script], { cwd: plain });
    assert.equal(expected.status, 0, expected.stderr);
    for (const code of ["ENOTEMPTY", "ENOTDIR", "EINVAL", "ENOENT", "EEXIST", "done"])
      assert.match(expected.stdout, new RegExp(code), code);
    stage.create();
    assert.equal(stage.exec(script), expected.stdout);
    stage.done("plan", "apply", stage.plan);
    const listed = (cwd: string) =>
      stage.run("sh", ["-ec", "find . | sort; cat $(find . -type f | sort)"], { cwd });
    assert.equal(listed(stage.project).stdout, listed(plain).stdout);
  });

  it("[O2] is renamed once, whichever of many threads comes first", () => {
    using stage = new RenamingStage();
    const script = stage.script(THREADS);
    stage.create();
    const said = stage.exec(script);
    assert.deepEqual(said.trim().split("\n").sort(), [...Array(7).fill("ENOENT"), "done"].sort());
    const found = stage.exec("cat to-*/a to-*/deep/b; ls | grep -c -e src -e to-");
    assert.equal(found, "src/a\nsrc/deep/b\n1\n");
  });

  it("[O2] is renamed beside another command of the plan, as often as a program likes", async () => {
    using stage = new RenamingStage();
    const plan = stage.create();
    const other = stage.start(["plan", "exec", plan, "--", "sh", "-c", "echo up; read end"]);
    await other.until(() => other.stdout === "up\n");
    assert.equal(stage.exec(`perl -e '${OFTEN}'`), "done\n");
    other.input("\n");
    assert.equal((await other.ended()).status, 0);
    assert.equal(stage.exec("cat src/a; ls -d new-*"), "src/a\nnew-3000\n");
  });

  it("[X7] is moved by a process that has no right which the command lacks, and that it can't trace", () => {
    using stage = new RenamingStage();
    const said = stage.insideDone(`pid=$(grep -ls ${SUPERVISOR_NAME} /proc/[0-9]*/comm | cut -d/ -f3)
      grep -E '^(CapEff|CapPrm|NoNewPrivs|Seccomp):' /proc/$pid/status | tr -s '\\t' ' '
      ls -l /proc/$pid/fd /proc/$pid/root /proc/$pid/mem 2>&1 | grep -c 'Permission denied'
      cat /proc/$pid/mem 2>&1 | grep -o 'Permission denied'
      strace -p $pid 2>&1 | grep -o 'not permitted'`);
    const none = "0000000000000000";
    assert.deepEqual(said.trim().split("\n"), [
      `CapPrm: ${none}`,
      `CapEff: ${none}`,
      "NoNewPrivs: 1",
      "Seccomp: 2",
      "2",
      "Permission denied",
      "not permitted",
    ]);
  });

  it("[X7] does not move for a program that has confined itself", () => {
    using stage = new RenamingStage();
    const confine = perlLine(`
      my $rules = pack("Q", 1 << 10);
      my $set = syscall(444, $rules, 8, 0); die "no ruleset: $!" if $set < 0;
      die "not confined: $!" if syscall(446, $set, 0) != 0;
      print rename("src", "lib") ? "moved" : "refused: $!", "\\n";`);
    assert.match(stage.insideDone(confine), /refused: Invalid cross-device link/);
  });

  it("[X7] touches nothing outside of the plan, while another thread swaps links under it", () => {
    using stage = new RenamingStage();
    const outside = join(stage.home, "outside");
    mkdirSync(join(outside, "src/deep"), { recursive: true });
    stage.write("home/outside/src/secret", "untouched\n");
    const script = stage.script(SWAPS.replaceAll("OUTSIDE", outside));
    const look = () => stage.run("ls", ["-lR", "--time-style=full-iso", outside]).stdout;
    const before = look();
    stage.create();
    const said = stage.exec(script);
    assert.match(said, /moved \d+ times/);
    stage.done("plan", "apply", stage.plan);
    assert.equal(look(), before);
    assert.equal(
      stage.run("sh", ["-c", "cat $(find . -name a) $(find . -name b)"]).stdout,
      "src/a\nsrc/deep/b\n",
    );
  });

  it("[O2] loses nothing if the supervisor is killed at any step, and the program gets an error", async (t) => {
    if (process.geteuid?.() !== 0) return t.skip("only root can trace the supervisor");
    using stage = new RenamingStage();
    const script = stage.script(RENAME_ON_REQUEST);
    stage.create();
    for (const [call, nth] of IS_LONG ? ALL_CHANGES : SOME_CHANGES) {
      assert.equal(await killedAt(stage, script, call, nth), "ready\nfailed: ENOSYS\n", `${call} ${nth}`);
      const { changes } = JSON.parse(stage.done("plan", "diff", stage.plan, "--json"));
      assert.doesNotMatch(JSON.stringify(changes), /-moving/);
      const kept = "cat src/a lib/a 2>/dev/null | sort -u; cat src/deep/b lib/deep/b 2>/dev/null | sort -u";
      assert.equal(stage.exec(`${kept}; rm -rf src lib`), "src/a\nsrc/deep/b\n", `${call} ${nth}`);
      stage.done("plan", "rollback", stage.plan);
    }
  });

  it("[O2] leaves no folder aside: the next move removes what a killed supervisor left", async (t) => {
    if (process.geteuid?.() !== 0) return t.skip("only root can trace the supervisor");
    using stage = new RenamingStage();
    const script = stage.script(RENAME_ON_REQUEST);
    stage.create();
    await killedAt(stage, script, "linkat", 2);
    assert.match(stage.exec("ls -A"), /-moving/);
    assert.equal(
      stage.exec("mv -T src lib; ls -A; ls lib"),
      "a.txt\nempty\nfull\nlib\nscript.cjs\na\ndeep\n",
    );
  });
});

const RENAME_ON_REQUEST = `
  console.log("ready");
  fs.readSync(0, Buffer.alloc(1));
  try { fs.renameSync("src", "lib"); console.log("done") } catch (e) { console.log("failed: " + e.code) }
`;

/** The changes that moving src takes, by system call; those that differ in what a kill leaves. */
const ALL_CHANGES = Object.entries({
  mkdirat: 2,
  linkat: 2,
  chmod: 2,
  utimensat: 2,
  "/^rename": 2,
  unlinkat: 4,
}).flatMap(([call, times]) => Array.from({ length: times }, (_, index) => [call, index + 1] as const));
const SOME_CHANGES = ALL_CHANGES.filter(([call, nth]) =>
  ["mkdirat 1", "linkat 2", "/^rename 2", "unlinkat 1", "unlinkat 4"].includes(`${call} ${nth}`),
);

/** Renames src to lib in the plan, and kills the supervisor when it makes a call for the nth time. */
async function killedAt(stage: RenamingStage, script: string, call: string, nth: number): Promise<string> {
  const running = stage.start(["plan", "exec", stage.plan, "--", "sh", "-c", script]);
  await running.until(() => running.stdout === "ready\n");
  const pid = supervisorBelow(String(running.pid));
  const options = ["-qq", "-e", `trace=${call}`, "-e", `inject=${call}:signal=KILL:when=${nth}`];
  const strace = spawn("strace", [...options, "-o", "/dev/null", "-p", `${pid}`], { stdio: "ignore" });
  await running.until(() => /TracerPid:\s*[1-9]/.test(readFileSync(`/proc/${pid}/status`, "utf8")));
  running.input("x");
  const { stdout } = await running.endedWithin(60);
  if (strace.exitCode === null && strace.signalCode === null) await once(strace, "exit");
  return stdout;
}

/** The supervisor of the command that this process runs. */
function supervisorBelow(ancestor: string): string | undefined {
  const children =
    readIfThere(`/proc/${ancestor}/task/${ancestor}/children`)?.split(" ").filter(Boolean) ?? [];
  return children
    .map((pid) => (commandOf(pid) === SUPERVISOR_NAME ? pid : supervisorBelow(pid)))
    .find(Boolean);
}

/** Makes src a folder with everything that a rename leaves as it is. */
const PECULIAR = `cd src
  mkfifo deep/fifo; ln -s ../a deep/link; ln a again; setfattr -n user.note -v kept deep
  mkdir closed; echo c > closed/c; chmod 000 closed/c; chmod 0555 closed; chmod 2750 deep
  touch -hd 2001-02-03T04:05:06 deep/link; touch -d 2001-02-03T04:05:06 a deep/b deep closed .`;
const LOOK = `stat -c '%n %A %s %y' . * */*; getfattr -d deep`;

/** Renames names of a small set at random, with a fixed seed, and says what came of each. */
const RANDOM_RENAMES = `
  let seed = 7;
  const random = (below) => (seed = (seed * 1103515245 + 12345) % 2147483648, (seed >> 8) % below);
  const names = ["src", "full", "empty", "a.txt", "x", "y"];
  const path = () => Array.from({ length: 1 + random(3) }, () => names[random(names.length)]).join("/");
  const attempt = (what, action) => {
    try { action(); console.log(what, "done") } catch (e) { console.log(what, e.code) }
  };
  attempt("exists", () => fs.mkdirSync("src"));
  attempt("full", () => fs.renameSync("src", "full"));
  attempt("into itself", () => fs.renameSync("src", "src/deep/x"));
  attempt("over its parent", () => fs.renameSync("src/deep", "src"));
  attempt("over a file", () => fs.renameSync("src", "a.txt"));
  attempt("a file over it", () => fs.renameSync("a.txt", "src"));
  attempt("with slashes", () => fs.renameSync("src//", "renamed/"));
  attempt("back", () => fs.renameSync("./renamed", "full/../src"));
  attempt("dots", () => fs.renameSync("src/.", "y"));
  for (let i = 0; i < 150; i += 1) {
    const [from, to] = [path(), path()];
    if (random(6) === 0) attempt("mkdir " + to, () => fs.mkdirSync(to));
    if (random(6) === 0) attempt("write " + to, () => fs.writeFileSync(to, String(i)));
    attempt(from + " -> " + to, () => fs.renameSync(from, to));
  }
`;

/** Eight threads rename one folder, each to a name of its own. */
const THREADS = `
  const { Worker, isMainThread, workerData } = require("worker_threads");
  if (isMainThread) {
    const start = new Int32Array(new SharedArrayBuffer(4));
    const workers = Array.from({ length: 8 }, (_, id) => new Worker(__filename, { workerData: { start, id } }));
    Promise.all(workers.map((each) => new Promise((up) => each.once("online", up)))).then(() => {
      Atomics.store(start, 0, 1); Atomics.notify(start, 0);
    });
  } else {
    Atomics.wait(workerData.start, 0, 0);
    let said = "done";
    try { fs.renameSync("src", "to-" + workerData.id) } catch (e) { said = e.code }
    console.log(said);
  }
`;

/** Renames a folder back and forth, while a thread puts a link that leads out in the place of its parents. */
const SWAPS = `
  const { Worker, isMainThread, workerData } = require("worker_threads");
  if (isMainThread) {
    fs.mkdirSync("in"); fs.mkdirSync("in/one"); fs.mkdirSync("in/two");
    fs.cpSync("src", "in/one/src", { recursive: true }); fs.renameSync("src", "in/two/original");
    const stop = new Int32Array(new SharedArrayBuffer(4));
    const worker = new Worker(__filename, { workerData: stop });
    let moved = 0;
    worker.once("online", () => {
      for (const end = Date.now() + 1500; Date.now() < end; )
        for (const [from, to] of [["in/one/src", "in/two/src"], ["in/two/src", "in/one/src"], ["in/two/original", "in/one/original"], ["in/one/original", "in/two/original"]])
          try { fs.renameSync(from, to); moved += 1 } catch {}
      Atomics.store(stop, 0, 1);
    });
    worker.once("exit", () => {
      for (const name of ["one", "two"]) {
        for (const old of [name + ".real"]) try { fs.renameSync("in/" + old, "in/" + name) } catch {}
      }
      fs.rmSync("in/one/src", { recursive: true, force: true }); fs.rmSync("in/two/src", { recursive: true, force: true });
      console.log("moved", moved, "times");
    });
  } else {
    for (let i = 0; Atomics.load(workerData, 0) === 0; i += 1) {
      const name = "in/" + ["one", "two"][i % 2];
      try {
        fs.renameSync(name, name + ".real"); fs.symlinkSync("OUTSIDE", name);
        fs.unlinkSync(name); fs.renameSync(name + ".real", name);
      } catch {}
    }
  }
`;
