import { cpSync, existsSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { answer, compare } from "./answer.ts";
import { alternate, runProgram } from "./measure.ts";
import { home, withPrivateMounts } from "./places.ts";

/**
 * How long does a small command take? Ours is `bin/drydock plan list` of the built program with an empty state directory; its peer is the
 * same Node with nothing to do. What is measured is built from the source as it is, in a copy of the project.
 */
const ROUNDS = 41;
const PARTS = ["bin", "schema", "scripts", "src", "package.json", "tsconfig.json", "tsconfig.build.json"];

withPrivateMounts();
const root = join(import.meta.dirname, "..");
const project = join(home, "project");
const state = join(home, "state");
mkdirSync(project);
for (const part of PARTS.filter((name) => existsSync(join(root, name)))) {
  cpSync(join(root, part), join(project, part), { recursive: true });
}
symlinkSync(join(root, "node_modules"), join(project, "node_modules"));
runProgram(process.execPath, join(project, "scripts/build.ts"));

const { ours, bare } = await alternate(ROUNDS, {
  ours: { run: () => runProgram(join(project, "bin/drydock"), "plan", "list", "--state-dir", state) },
  bare: { run: () => runProgram(join(root, "node_modules/node/bin/node"), "-e", "0") },
});
answer([compare("bin/drydock plan list", ours, "node -e 0", bare, { atMost: 2 })]);
