import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type Loss, withDefaults } from "../../src/core/capabilities.ts";
import type { OverlayWay } from "../../src/strategies/overlay/layout.ts";
import { OverlayStrategy } from "../../src/strategies/overlay/overlay.ts";
import { mountsBelow } from "../../src/system/mount/mount-table.ts";
import { fastFolder } from "../support/fast-folder.ts";
import { OneWayOverlay } from "../support/one-way-overlay.ts";
import { contextIn } from "../support/strategy-context.ts";
import { tryCheckpoints } from "./checkpoint-properties.ts";
import { worksBeneathPrograms } from "./landed-beneath.ts";
import { PropertyPlace } from "./landing-properties.ts";
import type { OperationName } from "./tree-operations.ts";

/** Tries a property of `overlay`, mounted in one way, so many times; fails by throwing. */
const [way, property = "", count = "0", seconds = "0"] = process.argv.slice(2) as [
  OverlayWay,
  string,
  string,
  string,
];
const parent = mkdtempSync(join(fastFolder(), "drydock-overlay-property-"));
mkdirSync(join(parent, "state"));
try {
  await tryProperty(Number(count), Number(seconds));
} finally {
  // After a failure.
  for (const point of mountsBelow(parent)) spawnSync("umount", ["--lazy", point]);
  if (process.geteuid?.() !== 0) spawnSync("chmod", ["-R", "u+rwx", parent]);
  rmSync(parent, { recursive: true, force: true });
}

async function tryProperty(times: number, limit: number): Promise<void> {
  const strategy = new OverlayStrategy(contextIn(join(parent, "state")), [way]);
  const losses = withDefaults(strategy.capabilities).loses;
  // fuse-overlayfs 1.10 has faults that programs see: a name is still found, though not listed, after its
  // folder was deleted and made again.
  const seesOtherwise = way === "fuse";
  const without = avoided(losses);
  if (property === "running" || property === "restoring") {
    const focus = property === "running" ? "landing" : "restoring";
    return await worksBeneathPrograms({ way, focus, parent, count: times, seconds: limit });
  }
  if (property === "checkpoints")
    return await tryCheckpoints(strategy, { parent, count: times, seconds: limit, without, seesOtherwise });
  const place = await PropertyPlace.open(parent, {
    strategy: (context) => new OneWayOverlay(context, [way]),
    losses,
    without,
    seesOtherwise,
  });
  try {
    if (property === "landing") await place.landsAndUndoes(times, limit);
    else if (property === "parts") await place.landsInParts(times, limit);
    else if (property === "dry-run") await place.survivesDryRuns(times, limit);
    else await place.showsWhatDiffers(times, limit);
  } finally {
    await place.drydock.close();
  }
}

/**
 * What is lost can't be compared. fuse-overlayfs does not keep those names together either that a program
 * makes of one file.
 */
function avoided(losses: readonly Loss[]): {
  building: readonly OperationName[];
  work: readonly OperationName[];
} {
  const building: OperationName[] = [];
  if (losses.includes("linked-files")) building.push("hardLink");
  if (losses.includes("special-files")) building.push("fifo");
  return { building, work: way === "fuse" ? ["hardLink"] : [] };
}
