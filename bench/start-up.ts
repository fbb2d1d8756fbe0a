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
 * Where the processor time goes, as root, in bare starts (perf, ten runs of each, on a machine with a load of
 * 13; a run whose launcher was a second Node took 7.9 of them, 5.6 and 2.3):
 *
 * | command line | launcher | part |
 * |---|---|---|
 * | 1.7 | 0.3 | calling functions for the first time |
 * | 0.9 | 0.2 | page faults |
 * | 0.6 | 0.1 | compiling |
 * | 0.4 | | starting V8 |
 * | 0.3 | 0.1 | taking over compiled code |
 * | 0.3 | 0.2 | koffi and what it calls, such as mounts |
 * | 0.3 | | other calls of the kernel |
 * | 0.2 | | SQLite |
 * | 5.1 | 1.2 | all |
 *
 * What V8 optimizes it compiles in the same thread now (0.5), because a copy needs that. Flags that keep it
 * from optimizing are no gain: with them V8 refuses the compiled code of Node's own modules.
 *
 * On a disk come 7 flushes: 3 durable commits while the plan is made and 1 at its end, the folder of the new
 * log, and 2 to close the database. 4 of the 7 seem to be there because the last connection that closes
 * merges the log of SQLite and removes it; nobody has tried without.
 *
 * So 3.5 is not reached: the command line alone takes more. 0.1.0 took 5.1 and 5.3 times a bare start in two
 * quiet runs of all of them by turns, where a second Node took 4.3 and 4.6. In processor time, by turns, a
 * run takes 15 to 20 % less than with a second Node, as root and without privilege.
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
