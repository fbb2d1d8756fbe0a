import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { CaseResult, ConformanceGroup } from "../../src/testing/index.ts";
import {
  type ImageFileSystem,
  type Mounted,
  mountImage,
  mountMemory,
  whyNoImages,
} from "../support/file-systems.ts";
import { IS_LONG } from "../support/long-form.ts";
import { BY_KERNEL, OVERLAY_RUNS, type OverlayRun, runOverlay } from "../support/overlay-runs.ts";
import { chosenCases, OF_FILE_SYSTEMS, titleOf } from "./describe-conformance.ts";

type Result = Pick<CaseResult, "name" | "group" | "outcome" | "reason">;

/** What each way can't keep, and which cases make no sense for it because of that. */
const LINKED = [
  "lands exactly: a folder that moves, with one name of a file that stays",
  "lands exactly: one more name of a file with several",
  "lands exactly: one of several names of a file that moves",
  "lands exactly: a change of a file with several names",
];
const EXCLUDED: { readonly [title: string]: readonly string[] } = {
  [BY_KERNEL.title]: [],
  "by the kernel in a user namespace, without privilege": LINKED,
  "by fuse-overlayfs, as root": [...LINKED, "lands exactly: holes"],
  "by fuse-overlayfs, without privilege": [
    ...LINKED,
    "lands exactly: holes",
    "lands exactly: changes inside read-only folders",
  ],
};

/** What may depend on how an overlay is mounted: in a normal run the rest is tried with one by the kernel. */
const OF_WAYS: readonly ConformanceGroup[] = ["isolation", "exactness", "checkpoints"];

/** One in so many cases of these groups; without a group, of all. */
interface OverlayCases {
  readonly groups: readonly ConformanceGroup[];
  readonly oneIn: number;
}

const ALL: OverlayCases = { groups: [], oneIn: 1 };

/** The suite in a process of its own, whose results are looked at one by one. */
function describeOverlay(
  title: string,
  run: OverlayRun,
  folder: () => string,
  { groups, oneIn }: OverlayCases,
): void {
  describe(`[S9] [O2] overlay ${title}`, { skip: run.skip }, () => {
    let results: readonly Result[] = [];
    before(async () => {
      const said = await runOverlay(run, "test/conformance/overlay-run.ts", [
        run.way,
        folder(),
        String(oneIn),
        ...groups,
      ]);
      results = said
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as Result);
    });

    for (const candidate of chosenCases({ groups: groups.length === 0 ? undefined : groups, oneIn }))
      it(titleOf(candidate), (t) => {
        const result = results.find(({ name }) => name === candidate.name);
        if (result?.outcome === "excluded") t.diagnostic(`excluded: ${result.reason}`);
        else assert.equal(result?.outcome, "passed", result?.reason);
      });

    it("leaves out exactly what it declares to lose", () => {
      // Of the built-in strategies the crash suite knows more points to die at, and this one speaks with no
      // server.
      const excluded = results
        .filter(({ outcome, group }) => outcome === "excluded" && !["crash", "late requests"].includes(group))
        .map(({ name }) => name);
      assert.deepEqual(excluded.sort(), [...(EXCLUDED[run.title] ?? [])].sort());
    });
  });
}

describe("on the file system of temporary files", { concurrency: 2 }, () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "drydock-overlay-"));
    chmodSync(folder, 0o777);
  });
  after(() => rmSync(folder, { recursive: true, force: true }));
  for (const run of OVERLAY_RUNS)
    describeOverlay(
      run.title,
      run,
      () => folder,
      IS_LONG || run === BY_KERNEL ? ALL : { groups: OF_WAYS, oneIn: 3 },
    );
});

for (const kind of ["ext4", "xfs", "btrfs", "tmpfs"] as const) {
  describe(`on ${kind}`, { skip: whyNoImages() ?? false }, () => {
    let mounted: Mounted;
    before(() => {
      mounted = kind === "tmpfs" ? mountMemory() : mountImage(kind satisfies ImageFileSystem);
      mkdirSync(join(mounted.path, "folder"));
    });
    after(() => mounted.remove());
    describeOverlay(
      `${BY_KERNEL.title}, on ${kind}`,
      BY_KERNEL,
      () => join(mounted.path, "folder"),
      IS_LONG ? ALL : { groups: OF_FILE_SYSTEMS, oneIn: 3 },
    );
  });
}
