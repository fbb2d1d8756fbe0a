import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { answer, compare } from "./answer.ts";
import { buildProject } from "./build-project.ts";
import { alternate, runProgram } from "./measure.ts";
import { home, withPrivateMounts } from "./places.ts";

/**
 * How long does a small command take? Ours are `bin/drydock plan list` and `bin/drydock run -- true` of the
 * built program, in a state directory without plans; their peer is the same Node with nothing to do.
 *
 * `run` needs two processes of Node: its own, and the launcher, a copy of it, which becomes the command. The
 * last row compares it with two Nodes: one that starts another in namespaces, which becomes `true`.
 *
 * Where the processor time of a run goes, both processes together, as root, in bare starts (perf, ten runs,
 * on a machine with a load of 13):
 *
 * | part | bare starts |
 * |---|---|
 * | JavaScript that is interpreted, most of it called once | 1.4 |
 * | calls of the kernel: mounts, files, the copy of the process | 0.7 |
 * | starting Node and V8 | 0.6 |
 * | shapes, classes, feedback: what V8 makes for code that it runs for the first time | 0.5 |
 * | taking over compiled code | 0.4 |
 * | compiling what is not kept, half of it regular expressions | 0.4 |
 * | page faults | 0.4 |
 * | optimizing | 0.4 |
 * | SQLite | 0.2 |
 * | other | 0.5 |
 * | all | 5.5 |
 *
 * What V8 optimizes it compiles in the same thread, because a copy needs that. Settings that keep it from
 * optimizing are no gain, neither at the start, where V8 then refuses the compiled code of Node's own
 * modules, nor later: the interpreter takes what the compilers took.
 *
 * On a disk come 7 flushes: 3 durable commits while the plan is made and 1 at its end, the folder of the new
 * log, and 2 to close the database. The last 3 are there because the last connection that closes merges the
 * log of SQLite and removes it. To leave it there would spare them, but they also bring to the disk what was
 * committed in order only.
 *
 * So 3.5 is not reached. By turns with the state of 7f455417, in processor time: `plan list` from 2.7 to 1.7
 * bare starts, `run` from 6.9 to 5.6. Of the modules of a run from source, 435, only 250 are called: an
 * apply calls 193 of 250.
 */
const ROUNDS = 41;
const BECOME_TRUE = 'process.execve("/usr/bin/true", ["true"], {})';

withPrivateMounts();
const project = buildProject();
const node = join(import.meta.dirname, "../node_modules/node/bin/node");
const state = join(home, "state");
const drydock = join(project, "bin/drydock");
const folder = join(home, "folder");
mkdirSync(folder);
writeFileSync(join(folder, "file"), "content\n");

const { list, run, bare, nodes } = await alternate(ROUNDS, {
  list: { run: () => runProgram(drydock, "plan", "list", "--state-dir", state) },
  run: {
    run: () => runProgram(drydock, "run", "--state-dir", state, "-r", folder, "--discard", "--", "true"),
  },
  bare: { run: () => runProgram(node, "-e", "0") },
  nodes: { run: () => runProgram(node, "-e", startSecondNode()) },
});
answer([
  compare("bin/drydock plan list", list, "node -e 0", bare, {
    atMost: 2,
    beyond: "taking over the compiled program, opening the state directory and housekeeping",
  }),
  compare("bin/drydock run -- true", run, "node -e 0", bare, {
    atMost: 3.5,
    beyond: "the copy that becomes the command, 47 mounts, 7 flushes and the removal of the sandbox",
  }),
  compare("bin/drydock run -- true", run, "a Node in namespaces, started by a Node", nodes, undefined),
]);

/** The program of a Node that starts another one in namespaces. */
function startSecondNode(): string {
  const users = process.geteuid?.() === 0 ? [] : ["--user", "--map-root-user"];
  const args = ["--pdeathsig", "KILL", "--", "unshare", "--pid", "--ipc", ...users, "--fork", "--kill-child"];
  const command = JSON.stringify([...args, "--", node, "-e", BECOME_TRUE]);
  return `require("node:child_process").spawn("setpriv", ${command}, { stdio: "inherit" })
    .on("exit", (code) => process.exit(code ?? 1))`;
}
