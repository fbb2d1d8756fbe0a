import { baseName } from "../core/byte-path.ts";
import { SandboxCommitError } from "../core/errors.ts";
import type { Attention } from "../core/strategy.ts";
import { type Facts, sameIdentity, type Time } from "../system/facts.ts";
import { failpoint } from "../system/failpoints.ts";
import type { Folder } from "../system/folder.ts";
import { parsed, readWhole, writeWhole } from "../system/whole-file.ts";
import { takeBarrier } from "./barrier.ts";
import { isThere, sameContentFacts } from "./entry-comparison.ts";
import type { Direction } from "./landing-decision.ts";
import { LandingRun } from "./landing-run.ts";
import type { ManifestEntry } from "./manifest.ts";
import { Slots } from "./slots.ts";
import { dropBallast } from "./staged-manifest.ts";
import type { StoredManifest } from "./stored-manifest.ts";

export interface LandingResult {
  readonly attention: readonly Attention[];
}

/** What `landed` holds. */
export interface LandedRecord {
  /** What changes at or after this moment is somebody else's. */
  readonly barrier: Time;
  readonly attention: readonly Attention[];
  /** Slots that hold a rival's version and are never removed by us. */
  readonly keptSlots: readonly number[];
}

const RECORD = failpoint("land.record");
export const LANDED = "landed";

/** A landing that is run in one direction. */
export interface RunnableLanding {
  readonly original: Folder;
  readonly landing: Folder;
  readonly manifest: StoredManifest;
  readonly direction: Direction;
  /** Called after each entry. */
  readonly tick?: (() => void) | undefined;
}

/** Runs a landing to its end. The caller flushes the file system afterwards. */
export function runLanding({ original, landing, manifest, direction, tick }: RunnableLanding): LandingResult {
  using slots = Slots.open(landing);
  const isFirst = dropBallast(landing);
  // What is taken back was left by another run too.
  const isResumed = !isFirst || direction === "backward";
  const landedAt = readLanded(landing)?.barrier;
  const run = new LandingRun({ original, slots, manifest, direction, landedAt, isResumed });
  run.all(tick);
  return recordEnd(landing, slots, manifest, run);
}

/** What the end of a landing recorded, if it came to its end. */
export function readLanded(landing: Folder): LandedRecord | undefined {
  const bytes = readWhole(landing, LANDED);
  return bytes === undefined ? undefined : parsed<LandedRecord>(bytes);
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
  writeWhole(RECORD, landing, LANDED, Buffer.from(JSON.stringify(record)));
  return { attention };
}

/** A version that was given back on the way back is no longer in its slot. */
function isOfOther(facts: Facts | undefined, entry: ManifestEntry): boolean {
  if (facts === undefined) return false;
  return ![entry.before, entry.after].some(
    (known) => isThere(facts, known) && known !== undefined && sameContentFacts(facts, known),
  );
}

/** What was given back meanwhile is no longer where an earlier run said. */
function stillTrue(attention: readonly Attention[], keptSlots: readonly number[]): Attention[] {
  return attention.filter(({ keptAt }) => keptAt === undefined || keptSlots.includes(Number(baseName(keptAt))));
}

function merge(earlier: readonly Attention[], found: readonly Attention[]): Attention[] {
  const known = new Set(earlier.map(({ path }) => path));
  return [...earlier, ...found.filter(({ path }) => !known.has(path))];
}

/** Another folder, or a link to one, may be in the place of the original by now. What was prepared is not for that one. */
export function assertSameOriginal(original: Folder, { root }: StoredManifest): void {
  if (sameIdentity(original.ownFacts(), root)) return;
  throw new SandboxCommitError(`${original.path} is not the folder that this landing was prepared for.`, {
    hint: "Put the folder back where it was; the landing then goes on.",
    code: "REPLACED",
  });
}
