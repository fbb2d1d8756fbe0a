import { tmpdir } from "node:os";
import type { OverlayWay } from "../../src/strategies/overlay/layout.ts";
import { OverlayStrategy } from "../../src/strategies/overlay/overlay.ts";
import { type ConformanceGroup, runConformance } from "../../src/testing/index.ts";
import { chosenCases, folderFactory, standIns } from "./describe-conformance.ts";

/**
 * Runs the suite over `overlay`, mounted in one way, in a folder, or one in so many cases of these groups of
 * it; prints the results, a line of JSON for each.
 */
const [way = "", folder = tmpdir(), oneIn = "", ...groups] = process.argv.slice(2);
const choice = {
  groups: groups.length === 0 ? undefined : (groups as ConformanceGroup[]),
  oneIn: Number(oneIn),
};
const factory = folderFactory((context) => new OverlayStrategy(context, [way as OverlayWay]), folder);
await runConformance(factory, {
  scratchDir: folder,
  cases: [...chosenCases(choice), ...standIns(choice)],
  onResult: ({ name, group, outcome, reason = "" }) =>
    console.log(JSON.stringify({ name, group, outcome, reason })),
});
