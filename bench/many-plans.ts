import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openDrydock } from "../src/index.ts";
import { answer, compare, type Row } from "./answer.ts";
import { buildProject } from "./build-project.ts";
import { alternate, type Side } from "./measure.ts";
import { imageOrFolder, withPrivateMounts } from "./places.ts";

/**
 * Does a command on one plan become slower when many others are open? Each of those is an overlay on a folder
 * of its own, in which a command has run. The same commands are timed in a state with one other plan and in a
 * state with a thousand.
 */
const MANY = 1_000;
const ROUNDS = 15;
const BEYOND = "the records and folders of the other plans, which the store and the sweep pass over";

withPrivateMounts();
const place = imageOrFolder("ext4");
const at = (...names: readonly string[]) => join(place.path, ...names);
const command = join(buildProject(), "bin/drydock");
await openPlans("few", 1);
await openPlans("many", MANY);

const QUESTIONS = {
  "plan show": ["plan", "show", "one"],
  "plan exec": ["plan", "exec", "one", "--", "true"],
  "plan diff": ["plan", "diff", "one"],
  "plan apply": ["plan", "apply", "one"],
} as const;

const rows: Row[] = [];
for (const [name, words] of Object.entries(QUESTIONS)) {
  const { many, few } = await alternate(ROUNDS, { many: side("many", words), few: side("few", words) });
  const what = `${name} beside ${MANY.toLocaleString("en")} open plans`;
  rows.push(compare(what, many, "beside one", few, { atMost: 1.2, beyond: BEYOND }));
}
answer(rows);

/** Makes a state in which so many plans are open. */
async function openPlans(name: string, count: number): Promise<void> {
  const drydock = await openDrydock({ stateDir: at(name, "state") });
  for (let index = 0; index < count; index += 1) {
    const folder = at(name, "others", String(index));
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "file"), `${index}\n`);
    const { id } = await drydock.plans.create({ resources: [{ location: folder }] });
    // What a command in it leaves for as long as the plan is open.
    mkdirSync(at(name, "state", "runs", id), { recursive: true });
  }
  await drydock.close();
}

/** A command on a plan that has one change. */
function side(name: string, words: readonly string[]): Side {
  const folder = at(name, "one");
  const drydock = (...args: readonly string[]) => run(folder, "--state-dir", at(name, "state"), ...args);
  return {
    before: () => {
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, "file"), "old\n");
      drydock("plan", "create", "--name", "one", "-r", ".");
      drydock("plan", "exec", "one", "--", "sh", "-c", "echo new > file");
    },
    run: () => drydock(...words),
    after: () => {
      if (!words.includes("apply")) drydock("plan", "cancel", "one");
    },
  };
}

function run(cwd: string, ...args: readonly string[]): void {
  const { status, stderr } = spawnSync(command, args, { cwd, encoding: "utf8" });
  if (status !== 0) throw new Error(`drydock ${args.join(" ")} failed: ${stderr}`);
}
