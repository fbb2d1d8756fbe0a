import { SandboxCommitError } from "../../core/errors/errors.ts";
import { baseName } from "../../core/paths/byte-path.ts";
import type { Attention } from "../../core/strategy.ts";
import { type Facts, sameIdentity } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { takeBarrier } from "../base/barrier.ts";
import { type LandedRecord, readLanded, writeLanded } from "../manifest/landed-record.ts";
import { type Direction, isThere, type ManifestEntry, sameContentFacts } from "../manifest/manifest.ts";
import { Slots } from "../manifest/slots.ts";
import type { StoredManifest } from "../manifest/stored-manifest.ts";
import { dropBallast } from "../staging/staged-manifest.ts";
import type { Steps } from "../work/pace.ts";
import { LandingRun } from "./landing-run.ts";

export interface LandingResult {
  readonly attention: readonly Attention[];
}

/** A landing that is run in one direction. */
export interface RunnableLanding {
  readonly original: Folder;
  readonly landing: Folder;
  readonly manifest: StoredManifest;
  readonly direction: Direction;
}

/** Runs a landing to its end. The caller flushes the file system afterwards. */
export function* runLanding({
  original,
  landing,
  manifest,
  direction,
}: RunnableLanding): Steps<LandingResult> {
  using slots = Slots.open(landing);
  const isFirst = dropBallast(landing);
  // The entries to take back were left by another run too.
  const isResumed = !isFirst || direction === "backward";
  const landedAt = readLanded(landing)?.barrier;
  const run = new LandingRun({ original, slots, manifest, direction, landedAt, isResumed });
  yield* run.all();
  return recordEnd(landing, slots, manifest, run);
}

function recordEnd(landing: Folder, slots: Slots, manifest: StoredManifest, run: LandingRun): LandingResult {
  const earlier = readLanded(landing);
  const kept = new Set([...(earlier?.keptSlots ?? []), ...run.report.keptSlots]);
  const keptSlots: number[] = [];
  if (kept.size > 0)
    for (const { slot, entry } of manifest.entries.all())
      if (kept.has(slot) && isOfOther(slots.facts(slot), entry)) keptSlots.push(slot);
  const attention = merge(stillTrue(earlier?.attention ?? [], keptSlots), run.report.attention);
  const record: LandedRecord = { barrier: takeBarrier(landing), attention, keptSlots };
  writeLanded(landing, record);
  return { attention };
}

/**
 * Whether a slot holds another writer's version. A version that the undo gave back is no longer in its slot.
 */
function isOfOther(facts: Facts | undefined, entry: ManifestEntry): boolean {
  if (facts === undefined) return false;
  return ![entry.before, entry.after].some(
    (known) => isThere(facts, known) && known !== undefined && sameContentFacts(facts, known),
  );
}

/**
 * Keeps the reports that are still true: a version that was given back is no longer where an earlier run
 * said.
 */
function stillTrue(attention: readonly Attention[], keptSlots: readonly number[]): Attention[] {
  return attention.filter(
    ({ keptAt }) => keptAt === undefined || keptSlots.includes(Number.parseInt(baseName(keptAt), 10)),
  );
}

function merge(earlier: readonly Attention[], found: readonly Attention[]): Attention[] {
  const known = new Set(earlier.map(({ path }) => path));
  return [...earlier, ...found.filter(({ path }) => !known.has(path))];
}

/**
 * Refuses another folder, or a link to one, in the place of the original: the landing was not prepared for
 * it.
 */
export function assertSameOriginal(original: Folder, { root }: StoredManifest): void {
  if (sameIdentity(original.ownFacts(), root)) return;
  throw new SandboxCommitError(`${original.path} is not the folder that this landing was prepared for.`, {
    hint: "Put the folder back where it was; the landing then goes on.",
    code: "REPLACED",
  });
}
