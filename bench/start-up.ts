import { join } from "node:path";
import { answer, compare } from "./answer.ts";
import { buildProject } from "./build-project.ts";
import { alternate, runProgram } from "./measure.ts";
import { home, withPrivateMounts } from "./places.ts";

/**
 * How long does a small command take? Ours is `bin/drydock plan list` of the built program with an empty
 * state directory; its peer is the same Node with nothing to do.
 */
const ROUNDS = 41;

withPrivateMounts();
const project = buildProject();
const node = join(import.meta.dirname, "../node_modules/node/bin/node");
const state = join(home, "state");

const { ours, bare } = await alternate(ROUNDS, {
  ours: { run: () => runProgram(join(project, "bin/drydock"), "plan", "list", "--state-dir", state) },
  bare: { run: () => runProgram(node, "-e", "0") },
});
answer([compare("bin/drydock plan list", ours, "node -e 0", bare, { atMost: 2 })]);
