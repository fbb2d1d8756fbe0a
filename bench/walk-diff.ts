import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { openServices } from "../src/runtime.ts";
import { answer, compare } from "./answer.ts";
import { alternate, flushPlace, runProgram } from "./measure.ts";
import { imageOrFolder, withPrivateMounts } from "./places.ts";
import { makeTree, text } from "./trees.ts";

/**
 * How long does it take to find what changed in a large tree? Ours is `plans.diff`, which reads the baseline,
 * walks the copy and compares; its peer is a `find` that only walks, and prints the attributes that we
 * compare.
 */
const FILES = 99_000;
const PER_FOLDER = 100;
const CHANGED = 20;
const ROUNDS = 11;
const ATTRIBUTES = "%i %m %U %G %s %n %T@ %C@ %y %p\\n";

withPrivateMounts();
const place = imageOrFolder("ext4");
const original = join(place.path, "original");
const files = makeTree(original, FILES, PER_FOLDER, () => Buffer.alloc(0));
const drydock = await openServices({ stateDir: join(place.path, "state") });
const { id } = await drydock.plans.create({
  resources: [{ location: original, strategy: "filesystem_copy" }],
});
const sandbox = await drydock.plans.path(id);
for (let at = 0; at < CHANGED; at += 1) {
  writeFileSync(join(sandbox, files[at * Math.floor(FILES / CHANGED)] as string), text(at, 1000));
}
flushPlace(place.path);

const { ours, find } = await alternate(ROUNDS, {
  ours: {
    run: async () => {
      const { changes } = await drydock.plans.diff(id);
      if (changes.length !== CHANGED)
        throw new Error(`${changes.length} changes were found instead of ${CHANGED}.`);
    },
  },
  find: { run: () => runProgram("find", sandbox, "-printf", ATTRIBUTES) },
});
await drydock.close();
const entries = FILES + FILES / PER_FOLDER + 1;
answer([
  compare(`diff of ${entries} entries, ${CHANGED} changed (${place.label})`, ours, "find -printf", find, {
    atMost: 1.2,
    beyond:
      "the baseline is read, each entry is compared with it, and changed files are read for their lines",
  }),
]);
