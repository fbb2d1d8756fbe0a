import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openServices } from "../src/runtime.ts";
import { answer } from "./answer.ts";
import { memoryOrFolder, withPrivateMounts } from "./places.ts";
import { makeTree } from "./trees.ts";

/**
 * How much memory does the diff of a million entries take? The largest resident set of a process that does
 * nothing else, beside that of one that opens the same state and does no diff. There is no goal: the number
 * is for the eye.
 */
const FILES = 990_000;
const PER_FOLDER = 100;

const [task, stateDir = "", plan] = process.argv.slice(2);
if (task === "look" || task === "diff") await inOwnProcess(task);
else {
  withPrivateMounts();
  await measure();
}

async function inOwnProcess(what: "look" | "diff"): Promise<void> {
  const drydock = await openServices({ stateDir });
  const changes = what === "diff" ? (await drydock.plans.diff(plan)).changes.length : 0;
  await drydock.close();
  console.log(JSON.stringify({ changes, megabytes: largestResidentSet() }));
}

/** Of this process since it began; what resourceUsage() says includes the process that started it. */
function largestResidentSet(): number {
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "latin1"))?.[1]) / 1024;
}

async function measure(): Promise<void> {
  const place = memoryOrFolder();
  const original = join(place.path, "original");
  const state = join(place.path, "state");
  const files = makeTree(original, FILES, PER_FOLDER, () => Buffer.alloc(0));
  const drydock = await openServices({ stateDir: state });
  const { id } = await drydock.plans.create({
    resources: [{ location: original, strategy: "filesystem_copy" }],
  });
  writeFileSync(join(await drydock.plans.path(id), files[0] as string), "changed\n");
  await drydock.close();
  const [diff, look] = [peak("diff", state, id), peak("look", state, id)];
  if (diff.changes !== 1) throw new Error(`${diff.changes} changes were found instead of 1.`);
  const entries = FILES + FILES / PER_FOLDER + 1;
  answer([
    {
      what: `memory of a diff of ${entries} entries (${place.label})`,
      ours: `${diff.megabytes.toFixed(0)} MB`,
      peer: `without the diff ${look.megabytes.toFixed(0)} MB`,
      ratio: `${(((diff.megabytes - look.megabytes) * 1024 ** 2) / entries).toFixed(0)} B each`,
      goal: "",
      verdict: "",
    },
  ]);
}

function peak(
  what: "look" | "diff",
  state: string,
  id: string,
): { readonly changes: number; readonly megabytes: number } {
  const { stdout, stderr, status } = spawnSync(process.execPath, [import.meta.filename, what, state, id], {
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`The ${what} failed: ${stderr}`);
  return JSON.parse(stdout) as { changes: number; megabytes: number };
}
