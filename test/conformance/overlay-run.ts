import { tmpdir } from "node:os";
import type { OverlayWay } from "../../src/strategies/overlay/layout.ts";
import { OverlayStrategy } from "../../src/strategies/overlay/overlay.ts";
import { runConformance } from "../../src/testing/index.ts";
import { folderFactory } from "./describe-conformance.ts";

/**
 * Runs the suite over `overlay`, mounted in one way, in a folder; prints the results, a line of JSON for
 * each.
 */
const [way = "", folder = tmpdir()] = process.argv.slice(2);
const factory = folderFactory((context) => new OverlayStrategy(context, [way as OverlayWay]), folder);
await runConformance(factory, {
  scratchDir: folder,
  onResult: ({ name, group, outcome, reason = "" }) =>
    console.log(JSON.stringify({ name, group, outcome, reason })),
});
