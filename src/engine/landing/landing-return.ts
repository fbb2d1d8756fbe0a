import { joinPath } from "../../core/paths/byte-path.ts";
import type { Attention } from "../../core/strategy.ts";
import { sameIdentity } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { writeWhole } from "../../system/data/whole-file.ts";
import { failpoint } from "../../system/failpoints.ts";
import type { OwnTouches, RestoredPath } from "../base/own-touches.ts";
import { readLanded } from "../manifest/landed-record.ts";
import { Slots, slotName } from "../manifest/slots.ts";
import type { StoredManifest } from "../manifest/stored-manifest.ts";
import type { Steps } from "../work/pace.ts";
import { runLanding } from "./landing.ts";
import { dropInnerLink } from "./landing-links.ts";

const POINTS = { returned: failpoint("landings.returned"), drop: failpoint("landings.discard") };
/** Its presence means that all renames are done, and only names of files that stay are left to drop. */
const RETURNED = "returned";

/** A landing on its way back. */
export interface ReturningLanding {
  readonly original: Folder;
  readonly landing: Folder;
  readonly manifest: StoredManifest;
  readonly touches: OwnTouches;
}

/**
 * Undoes a landing completely. Order of writes:
 *   1. the renames, `landed`
 *   2. `returned`, if names of files that stay have to be dropped: a landing from which some are missing
 *      would look like another writer's change
 *   3. these names go; that moves the change time of the file that stays
 *   4. what the change times of the original stand for now (own-touches.ts)
 */
export function* goBack(returning: ReturningLanding): Steps<readonly Attention[]> {
  const { original, landing, manifest } = returning;
  const drops = manifest.anchors.length > 0;
  if (landing.facts(RETURNED) === undefined) {
    yield* runLanding({ original, landing, manifest, direction: "backward" });
    if (drops) writeWhole(POINTS.returned, landing, RETURNED, Buffer.alloc(0));
  }
  if (drops) dropNames(returning);
  returning.touches.noteRestored(original, beforeOf(manifest));
  return readLanded(landing)?.attention ?? [];
}

function dropNames({ landing, manifest }: ReturningLanding): void {
  using slots = Slots.open(landing);
  const anchors = new Map(manifest.anchors.map(({ path, before }) => [path, before]));
  for (const { slot, entry } of manifest.entries.all()) {
    for (const link of entry.innerLinks ?? []) dropInnerLink(slots, slot, link, anchors.get(link.linkTo));
    const anchor = entry.linkTo === undefined ? undefined : anchors.get(entry.linkTo);
    const left = anchor === undefined ? undefined : slots.facts(slot);
    if (anchor === undefined || left === undefined || !sameIdentity(left, anchor)) continue;
    slots.in(slot).removeFile(POINTS.drop, slotName(slot));
  }
}

function* beforeOf({ anchors, entries }: StoredManifest): Generator<RestoredPath> {
  yield* anchors;
  for (const { entry } of entries.all("backward")) {
    yield entry;
    for (const [path, before] of Object.entries(entry.skeleton?.files ?? {}))
      yield { path: joinPath(entry.path, path), before };
  }
}
