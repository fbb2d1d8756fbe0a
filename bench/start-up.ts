import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { FORKING_FLAGS } from "../src/system/launch/forked-process.ts";
import { answer, compare } from "./answer.ts";
import { buildProject } from "./build-project.ts";
import { alternate, runProgram } from "./measure.ts";
import { home, imageOf, withPrivateMounts } from "./places.ts";

/**
 * How long does a small command take? Ours are `bin/drydock plan list` and `bin/drydock run -- true` of the
 * built program, in a state directory without plans; their peer is the same Node with nothing to do.
 *
 * `run` needs two processes of Node: its own, and the launcher, a copy of it, which becomes the command. Its
 * floor is start-floor.cjs: the least that a program of this Node can do for the same job. A last row
 * compares `run` with two Nodes: one that starts another in namespaces, which becomes `true`.
 *
 * They work on an ext4 with a journal, as users have. Without one, ext4 passes over each inode that was freed
 * in the last minutes when it makes a new one, and the rounds free some thousands: 12 ms of each run.
 *
 * The goal of `run` is 3.5 bare starts. It is missed: 3.95 on a quiet machine. The floor takes 1.5, so the
 * kernel, the disk and Node leave room for it: what is missing is our own JavaScript, which finds out, checks
 * and records what the floor knows beforehand, and which each process calls once.
 *
 * Where the processor time of a run goes, all processes together, as root, in bare starts (perf, ten runs):
 *
 * | part | bare starts |
 * |---|---|
 * | page faults: memory that V8 takes, and pages that the launcher shares until one of both writes | 0.8 |
 * | other calls of the kernel: mounts, files, flushes | 0.7 |
 * | JavaScript that is interpreted, most of it called once | 0.6 |
 * | starting Node and V8 | 0.5 |
 * | shapes, classes, feedback: what V8 makes for code that it runs for the first time | 0.4 |
 * | functions of V8 and Node that JavaScript calls | 0.4 |
 * | optimizing | 0.3 |
 * | taking over compiled code | 0.2 |
 * | copies of the process, what they become, and their ends | 0.2 |
 * | compiling what is not kept: functions of Node's own modules, and regular expressions | 0.2 |
 * | SQLite | 0.1 |
 * | all | 4.4 |
 *
 * The processes: Drydock itself takes three quarters, the launcher a fifth, and the shell, `setpriv` and the
 * command the rest. Of what Drydock takes, 40 % go by until its first line runs and its modules are there,
 * 7 % for the copy, 36 % until the command may start, and 17 % after its end.
 *
 * What was tried and is no gain, by turns:
 * - A start-up snapshot of V8 with the program in it. Node has to read its file, 6 MB for an empty program,
 *   which takes a third of a bare start more than its own snapshot; and with 11 MB for ours, `plan list`
 *   takes 2.9 bare starts instead of 1.8. That one was not warmed: V8 compiled its functions anew.
 * - Shorter names in the bundle, and to keep also what a second run compiled: the kept code is as large.
 * - Another size of the young part of V8's memory (4, 6, 12 MB), and no threads of V8 (`--v8-pool-size=0`).
 * - Settings that keep V8 from optimizing, at the start, where V8 then refuses the compiled code of Node's
 *   own modules, or later: the interpreter takes what the compilers took. (What V8 optimizes it compiles in
 *   the same thread, because a copy needs that.)
 *
 * On a disk come 7 flushes: 3 durable commits while the plan is made and 1 at its end, the folder of the new
 * log, and 2 to close the database. The last 3 are there because the last connection that closes merges the
 * log of SQLite and removes it. To leave it there would spare them, but they also bring to the disk what was
 * committed in order only.
 *
 * Of the modules of a run from source, 365, 246 are called: an apply calls 194 of 251.
 */
const ROUNDS = 41;
const BECOME_TRUE = 'process.execve("/usr/bin/true", ["true"], {})';
const FLOOR = join(import.meta.dirname, "start-floor.cjs");
const FLOOR_PARTS = "a copy that becomes the command, 47 mounts, 7 flushes";
const BEYOND_FLOOR =
  "the program itself, which V8 takes over and runs for the first time: recovery and housekeeping, the choice of a strategy, " +
  "claims, policies, the view as data, checks by descriptor, the diff and the history";

withPrivateMounts();
const project = buildProject();
const node = join(import.meta.dirname, "../node_modules/node/bin/node");
const koffi = join(
  import.meta.dirname,
  `../node_modules/@koromix/koffi-linux-${process.arch}/linux_${process.arch}/koffi.node`,
);
const place = imageOf("ext4")?.path ?? home;
const state = join(place, "state");
const drydock = join(project, "bin/drydock");
const folder = join(place, "folder");
mkdirSync(folder);
writeFileSync(join(folder, "file"), "content\n");

const floorFolder = join(place, "floor");
mkdirSync(floorFolder);
// Only root may do without a user namespace, which the floor does.
const isRoot = process.geteuid?.() === 0;

const { list, run, bare, nodes, floor } = await alternate(ROUNDS, {
  list: { run: () => runProgram(drydock, "plan", "list", "--state-dir", state) },
  run: {
    run: () => runProgram(drydock, "run", "--state-dir", state, "-r", folder, "--discard", "--", "true"),
  },
  bare: { run: () => runProgram(node, "-e", "0") },
  nodes: { run: () => runProgram(node, "-e", startSecondNode()) },
  floor: {
    run: () => {
      if (isRoot) runProgram(node, ...FORKING_FLAGS, FLOOR, koffi, floorFolder);
    },
  },
});
answer([
  compare("bin/drydock plan list", list, "node -e 0", bare, {
    atMost: 2,
    beyond: "taking over the compiled program, opening the state directory and housekeeping",
  }),
  compare("bin/drydock run -- true", run, "node -e 0", bare, {
    atMost: 3.5,
    beyond: `${FLOOR_PARTS}, and ${BEYOND_FLOOR}`,
  }),
  ...(isRoot ? [compare("  to the floor of its job", run, FLOOR_PARTS, floor, undefined)] : []),
  compare("  to two Nodes", run, "a Node in namespaces, started by a Node", nodes, undefined),
]);

/** The program of a Node that starts another one in namespaces. */
function startSecondNode(): string {
  const users = process.geteuid?.() === 0 ? [] : ["--user", "--map-root-user"];
  const args = ["--pdeathsig", "KILL", "--", "unshare", "--pid", "--ipc", ...users, "--fork", "--kill-child"];
  const command = JSON.stringify([...args, "--", node, "-e", BECOME_TRUE]);
  return `require("node:child_process").spawn("setpriv", ${command}, { stdio: "inherit" })
    .on("exit", (code) => process.exit(code ?? 1))`;
}
