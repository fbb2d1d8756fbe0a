import { tmpdir } from "node:os";
import type { OverlayWay } from "../../src/strategies/overlay/layout.ts";
import { OverlayStrategy } from "../../src/strategies/overlay/overlay.ts";
import { conformanceCases, runConformance } from "../../src/testing/index.ts";
import { folderFactory } from "./describe-conformance.ts";

/**
 * Runs the suite over `overlay`, mounted in one way, in a folder, or only these groups of it; prints the
 * results, a line of JSON for each.
 */
const [way = "", folder = tmpdir(), ...groups] = process.argv.slice(2);
const factory = folderFactory((context) => new OverlayStrategy(context, [way as OverlayWay]), folder);
await runConformance(factory, {
  scratchDir: folder,
  cases: conformanceCases.filter(({ group }) => groups.length === 0 || groups.includes(group)),
  onResult: ({ name, group, outcome, reason = "" }) =>
    console.log(JSON.stringify({ name, group, outcome, reason })),
});
