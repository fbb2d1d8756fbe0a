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
 * `run` needs two Nodes: its own, and the launcher's, which becomes the command. The last row compares it
 * with its floor, these two alone: a Node that starts another one in namespaces, which becomes `true`. Where
 * the time goes, as root, with the state in memory; estimated from traces and profiles on a busy machine,
 * scaled to a bare start of 42 ms:
 *
 * | ms | part |
 * |---|---|
 * | 40 | Node starts |
 * | 25 | loading the compiled program: V8 takes over 0.9 MB of compiled code, and the modules run |
 * | 20 | starting the launcher: koffi 4, Node's modules for processes 5, the fork of a whole Node 5 |
 * | 45 | opening the state directory, loading the rest (12), the plan; the launcher starts meanwhile |
 * | 8 | the view |
 * | 20 | the launcher mounts it and becomes the command; the command; its namespaces end |
 * | 25 | unmounting, comparing, cancelling, closing the store; the kernel frees the memory |
 *
 * On a disk come 7 flushes: 3 durable commits while the plan is made and 1 at its end, the folder of the new
 * log, and 2 to close the database. 4 of the 7 seem to be there because the last connection that closes
 * merges the log of SQLite and removes it; nobody has tried without.
 *
 * So 3.5 is not reached as long as two Nodes start and the second waits for the plan of the first. In
 * two runs of all of them by turns, 0.1.0 took 5.1 and 5.3 times a bare start where this took 4.3 and 4.6.
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
  compare("bin/drydock plan list", list, "node -e 0", bare, { atMost: 2 }),
  compare("bin/drydock run -- true", run, "node -e 0", bare, {
    atMost: 3.5,
    beyond: "a second Node, 47 mounts, 7 flushes and the removal of the sandbox",
  }),
  compare("bin/drydock run -- true", run, "a Node in namespaces, started by a Node", nodes, undefined),
]);

/** The program of a Node that starts another one as Drydock starts its launcher. */
function startSecondNode(): string {
  const users = process.geteuid?.() === 0 ? [] : ["--user", "--map-root-user"];
  const args = ["--pdeathsig", "KILL", "--", "unshare", "--pid", "--ipc", ...users, "--fork", "--kill-child"];
  const command = JSON.stringify([...args, "--", node, "-e", BECOME_TRUE]);
  return `require("node:child_process").spawn("setpriv", ${command}, { stdio: "inherit" })
    .on("exit", (code) => process.exit(code ?? 1))`;
}
