import assert from "node:assert/strict";
import { IMAGE_FILE_SYSTEMS, type ImageFileSystem } from "../support/file-systems.ts";
import { CutLandings, type Originals } from "./cut-landings.ts";

/** Cuts the power at each of these moments of an apply: all is old or all is new, and both are seen. */
export async function assertAllOrNothing(
  kind: ImageFileSystem,
  originals: Originals,
  moments: readonly string[],
): Promise<void> {
  await using landings = new CutLandings(kind, originals);
  const outcomes = new Set<string>();
  for (const moment of moments) {
    const outcome = await landings.cutPowerAt(moment, "");
    assert.deepEqual(outcome.problems, [], `${kind}, ${moment}`);
    outcomes.add(outcome.side);
  }
  assert.deepEqual([...outcomes].sort(), ["new", "old"], "both sides of the decision were seen");
}

/**
 * With these failpoints, which switch the flushes off, something is lost on one of the file systems at least.
 */
export async function assertLosesWithout(
  flushes: string,
  originals: Originals,
  moments: readonly string[],
): Promise<void> {
  for (const kind of IMAGE_FILE_SYSTEMS) {
    await using landings = new CutLandings(kind, originals);
    for (const moment of moments) {
      const { problems } = await landings.cutPowerAt(moment, flushes);
      if (problems.length > 0) return;
    }
  }
  assert.fail("without flushes nothing was lost, so nothing is proved by the other tests");
}
