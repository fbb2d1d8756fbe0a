import { describe } from "node:test";
import { itInTurn } from "../support/long-form.ts";
import {
  BY_FUSE,
  BY_FUSE_OF_USER,
  BY_KERNEL,
  IN_USER_NAMESPACE,
  runOverlay,
} from "../support/overlay-runs.ts";

const PROPERTIES = [
  ["landing", "[A11] lands exactly as in a plain folder, and undo brings back exactly what was"],
  [
    "dry-run",
    "[A7] a dry run changes neither the original nor the sandbox, and what lands after it is the same",
  ],
  ["parts", "[A11] lands in parts as it does at once, and each part can be taken back"],
  ["diff", "[D1] the diff names what differs, and nothing else"],
  ["checkpoints", "[C6] checkpoints bring back exactly that state, and exactly that lands"],
] as const;

/** The kernel alone lands and restores while programs are inside. */
const RUNNING = [
  [
    "running",
    "[I8] [I9] lands while programs work in it, and ends at any step: nothing is lost, and nothing lands unseen",
  ],
  [
    "restoring",
    "[I8] [I9] is brought back while programs work in it, and ends at any step: exactly what was saved is there, and lands",
  ],
] as const;

/** How often each is tried: fuse-overlayfs takes its time to begin and to end. */
const TRIED = [
  [BY_KERNEL, 13],
  [IN_USER_NAMESPACE, 4],
  [BY_FUSE, 2],
  [BY_FUSE_OF_USER, 2],
] as const;

/** In a normal run each property is tried with one of them, and with the first of all ways. */
const OTHER_WAYS = [IN_USER_NAMESPACE, BY_FUSE, BY_FUSE_OF_USER];

describe("random work in random trees, through an overlay", { concurrency: 2 }, () => {
  for (const [run, count] of TRIED)
    describe(run.title, { skip: run.skip }, () => {
      for (const [property, title] of run.way === "fuse" ? PROPERTIES : [...PROPERTIES, ...RUNNING])
        itInTurn(run, OTHER_WAYS)(title, async () => {
          const seconds = property === "parts" ? "2" : "5";
          await runOverlay(run, "test/properties/overlay-run.ts", [
            run.way,
            property,
            String(count),
            seconds,
          ]);
        });
    });
});
