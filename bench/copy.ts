import { rmSync } from "node:fs";
import { join } from "node:path";
import { openServices } from "../src/runtime.ts";
import { answer, compare, type Row } from "./answer.ts";
import { alternate, flushPlace, runProgram } from "./measure.ts";
import { imageOf, imageOrFolder, type Place, withPrivateMounts } from "./places.ts";
import { makeTree, sourceLike } from "./trees.ts";

/**
 * How long does it take to make a sandbox that is a copy? Ours is `plans.create`, with the journal, the
 * baseline and the barrier; its peer is `cp -a`, which keeps as much of each file as we do.
 */
const FILES = 10_000;
const PER_FOLDER = 100;
const ROUNDS = 9;

withPrivateMounts();
const rows: Row[] = [];
rows.push(await copying(imageOrFolder("ext4"), "filesystem_copy", [], 1.5));
for (const type of ["xfs", "btrfs"] as const) {
  const image = imageOf(type);
  if (image === undefined)
    console.error(`copy_on_write is not measured on ${type}: images can't be made here.`);
  else rows.push(await copying(image, "copy_on_write", ["--reflink=always"], 1.1));
}
answer(rows);

async function copying(
  place: Place,
  strategy: string,
  options: readonly string[],
  atMost: number,
): Promise<Row> {
  const original = join(place.path, "original");
  const copy = join(place.path, "copy");
  const drydock = await openServices({ stateDir: join(place.path, "state") });
  makeTree(original, FILES, PER_FOLDER, sourceLike);
  let plan = "";
  const { ours, peer } = await alternate(ROUNDS, {
    ours: {
      run: async () => {
        plan = (await drydock.plans.create({ resources: [{ location: original, strategy }] })).id;
      },
      after: async () => {
        await drydock.plans.cancel(plan);
        flushPlace(place.path);
      },
    },
    peer: {
      run: () => runProgram("cp", "-a", ...options, original, copy),
      after: () => {
        rmSync(copy, { recursive: true });
        flushPlace(place.path);
      },
    },
  });
  await drydock.close();
  return compare(
    `${strategy}: create, ${FILES} files (${place.label})`,
    ours,
    ["cp -a", ...options].join(" "),
    peer,
    { atMost, beyond: "the facts of each entry are noted as its base, and the plan is recorded durably" },
  );
}
