import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openServices } from "../src/runtime.ts";
import { Folder } from "../src/system/calls/folder.ts";
import { syncfs } from "../src/system/calls/native.ts";
import { answer, compare, type Row } from "./answer.ts";
import { newContent, oldContent, PER_FOLDER, removeAll } from "./floor.ts";
import { alternate, flushPlace, type Side } from "./measure.ts";
import { imageOrFolder, withPrivateMounts } from "./places.ts";
import { makeTree } from "./trees.ts";

/**
 * What does a checkpoint of 20 changed files cost, and going back to it, and does that depend on the size of
 * the original?
 *
 * The floor of both is to write those files into a new folder and flush their file system once, which nothing
 * can do without. A restore also saves what is there now, so that it can be taken back. Then: what does one
 * more change cost after much work? Its floor is to name all files of the work a second time and flush.
 * Keeping many checkpoints is asked for at the end.
 */
const CHANGED = 20;
const MUCH = 5000;
const LARGE_MB = 64;
const MANY = 1000;

const RECORDED = "two flushes where the floor has one (the files, then the record of the plan)";
const SAVED_FIRST = `${RECORDED}; and what is there now is saved first, so that a restore that fails can be taken back`;

withPrivateMounts();
const place = imageOrFolder("ext4");
const at = (...names: readonly string[]) => join(place.path, ...names);
const drydock = await openServices({ stateDir: at("state") });
const rows: Row[] = [];
for (const strategy of ["overlay", "filesystem_copy"]) {
  for (const size of [1_000, 100_000]) {
    const files = makeTree(at("original"), size, PER_FOLDER, oldContent);
    const changed = files.filter((_, index) => index % (size / CHANGED) === 0);
    const { id } = await drydock.plans.create({ resources: [{ location: at("original"), strategy }] });
    flushPlace(place.path);
    const { save, restore, floor } = await alternate(15, {
      save: saving(id, changed),
      restore: restoring(id, changed),
      floor: written(),
    });
    const label = `${strategy}, ${CHANGED} of ${size.toLocaleString("en")} files`;
    rows.push(
      compare(`checkpoint, ${label}`, save, "write and flush", floor, { atMost: 2, beyond: RECORDED }),
    );
    rows.push(
      compare("  going back to it", restore, "write and flush", floor, { atMost: 2, beyond: SAVED_FIRST }),
    );
    await drydock.plans.cancel(id);
    removeAll(at("original"));
  }
}
for (const strategy of ["overlay", "filesystem_copy"]) rows.push(await afterMuchWork(strategy));
rows.push(...(await keepMany()));
await drydock.close();
answer(rows);

async function work(plan: string, changed: readonly string[], seed: number): Promise<void> {
  const sandbox = await drydock.plans.path(plan);
  for (const [index, file] of changed.entries()) writeFileSync(join(sandbox, file), newContent(index + seed));
}

function saving(plan: string, changed: readonly string[]): Side {
  let seed = 0;
  return {
    before: async () => {
      seed += CHANGED;
      await work(plan, changed, seed);
    },
    run: async () => {
      // One with a label pushes none out, so this is the saving alone.
      await drydock.checkpoints.checkpoint(plan, { label: `number ${seed}` });
    },
  };
}

function restoring(plan: string, changed: readonly string[]): Side {
  let seed = 7;
  let checkpoint = "";
  return {
    before: async () => {
      await work(plan, changed, seed);
      checkpoint = (await drydock.checkpoints.checkpoint(plan)).id;
      seed += CHANGED;
      await work(plan, changed, seed);
    },
    run: async () => {
      await drydock.checkpoints.restore(plan, checkpoint);
    },
  };
}

function written(): Side {
  const folder = at("floor");
  return {
    before: () => {
      mkdirSync(folder);
    },
    run: async () => {
      using open = Folder.open(folder);
      for (let index = 0; index < CHANGED; index += 1)
        writeFileSync(join(folder, String(index)), newContent(index));
      await syncfs(open.fd, folder);
    },
    after: () => removeAll(folder),
  };
}

/** A plan with thousands of new files and a large one, all of them in a checkpoint; then one changes. */
async function afterMuchWork(strategy: string): Promise<Row> {
  mkdirSync(at("small"));
  const { id } = await drydock.plans.create({ resources: [{ location: at("small"), strategy }] });
  const sandbox = await drydock.plans.path(id);
  makeTree(join(sandbox, "work"), MUCH, PER_FOLDER, newContent);
  writeFileSync(join(sandbox, "large"), Buffer.alloc(LARGE_MB * 1024 * 1024, "large"));
  makeTree(at("work"), MUCH, PER_FOLDER, newContent);
  await drydock.checkpoints.checkpoint(id);
  let seed = 0;
  const { save, floor } = await alternate(7, {
    save: {
      before: () => {
        seed += 1;
        writeFileSync(join(sandbox, "changed"), newContent(seed));
      },
      run: async () => {
        await drydock.checkpoints.checkpoint(id);
      },
    },
    floor: {
      run: async () => {
        using open = Folder.open(place.path);
        execFileSync("cp", ["-al", at("work"), at("floor")]);
        await syncfs(open.fd, place.path);
      },
      after: () => removeAll(at("floor")),
    },
  });
  await drydock.plans.cancel(id);
  for (const folder of ["small", "work"]) removeAll(at(folder));
  const what = `checkpoint, ${strategy}, 1 more change after ${MUCH.toLocaleString("en")} and ${LARGE_MB} MB`;
  return compare(what, save, "link and flush", floor, { atMost: 3, beyond: RECORDED });
}

/**
 * A thousand checkpoints with a label, which all stay: how long does it take to list them, to make one more,
 * to let all go?
 */
async function keepMany(): Promise<Row[]> {
  makeTree(at("small"), PER_FOLDER, PER_FOLDER, oldContent);
  const { id } = await drydock.plans.create({ resources: [{ location: at("small"), strategy: "overlay" }] });
  const write = (number: number) => drydock.plans.write(id, "small", "state", Buffer.from(`${number}\n`));
  for (let number = 0; number < MANY; number += 1) {
    await write(number);
    await drydock.checkpoints.checkpoint(id, { label: `number ${number}` });
  }
  const [first] = await drydock.checkpoints.list(id);
  const timed = async (action: () => Promise<unknown>) => {
    const start = performance.now();
    await action();
    return [performance.now() - start];
  };
  const list = await timed(() => drydock.checkpoints.list(id));
  await write(MANY);
  const one = await timed(() => drydock.checkpoints.checkpoint(id));
  const drop = await timed(() => drydock.checkpoints.restore(id, first?.id ?? ""));
  await drydock.plans.cancel(id);
  removeAll(at("small"));
  const second = [1000];
  return [
    compare(`listing ${MANY} checkpoints`, list, "a second", second, {
      underMs: 1000,
      beyond: "the record of each checkpoint is read from the store",
    }),
    compare("  making one more", one, "a second", second, {
      underMs: 1000,
      beyond: "the layer is compared with that of the last checkpoint, and flushed",
    }),
    compare("  going back to the first, which drops all others", drop, "a second", second, {
      underMs: 1000,
      beyond: "the folder and the record of each later checkpoint are removed",
    }),
  ];
}
