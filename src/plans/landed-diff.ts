import { type LandedResource, landedResources } from "../commit/landed-changes.ts";
import { type Change, type ChangeFacts, type ChangeSide, DiffCount } from "../core/change.ts";
import { pathFromBytes } from "../core/paths/byte-path.ts";
import type { PlanRecord } from "../core/plan.ts";
import { filePatch } from "../engine/show/file-patch.ts";
import type { PlanSession } from "../sandboxes/access/plan-session.ts";
import { digestOfContent } from "../system/data/content-digest.ts";
import type { LandedView } from "./landing-views.ts";
import { ChangesDigest, isWanted } from "./plan-changes.ts";
import { patchForm } from "./plan-patch.ts";
import type { DiffOptions, PatchOptions, PlanChange, PlanDiff } from "./plan-views.ts";

/** What an applied plan changed, in the form of a diff. */
export async function landedDiff(
  session: PlanSession,
  plan: PlanRecord,
  options: DiffOptions,
): Promise<PlanDiff> {
  const [all, wanted] = [new ChangesDigest(), new DiffCount()];
  const changes: PlanChange[] = [];
  const take = options.onChange ?? ((change: PlanChange) => changes.push(change));
  const unlisted: { resource: string; changes: number }[] = [];
  let at = plan.createdAt;
  for await (const landed of landedResources(session, plan)) {
    at = landed.transaction.finishedAt ?? at;
    if (landed.unlisted > 0) unlisted.push({ resource: landed.resource, changes: landed.unlisted });
    for (const change of landed.changes) {
      const shown = { ...change, resource: landed.resource };
      all.add(shown);
      if (!isWanted(shown, options.paths)) continue;
      wanted.add(shown);
      take(shown);
    }
  }
  const landed: LandedView = { at, unlisted };
  const none = { renames: [], selfRunning: [] };
  return { planId: plan.id, digest: all.end(), stats: wanted.stats, changes, ...none, landed };
}

/** The same as unified text, of what is still there: the state before is in the undo record. */
export async function* landedPatch(
  session: PlanSession,
  plan: PlanRecord,
  options: PatchOptions,
): AsyncGenerator<string> {
  options.onDiff?.(await landedDiff(session, plan, options));
  for await (const landed of landedResources(session, plan)) {
    for (const change of landed.changes) {
      const shown = { ...change, resource: landed.resource };
      if (!isWanted(shown, options.paths)) continue;
      const read = await readSides(landed, change);
      const sources = {
        before: async () => read.before?.content,
        after: async () => read.after?.content,
      };
      const known = { ...shown, ...read.before?.facts, ...read.after?.facts };
      yield pathFromBytes(await filePatch(known, sources, patchForm(plan, shown, options)));
    }
  }
}

interface ReadSide {
  readonly content: Uint8Array;
  readonly facts: Partial<Pick<Change, ChangeSide>>;
}

/** Both sides, each with the facts that only its content tells. */
async function readSides(
  landed: LandedResource,
  change: Change,
): Promise<{ readonly [side in ChangeSide]: ReadSide | undefined }> {
  return { before: await readSide(landed, change, "before"), after: await readSide(landed, change, "after") };
}

async function readSide(
  landed: LandedResource,
  change: Change,
  side: ChangeSide,
): Promise<ReadSide | undefined> {
  const facts = change[side];
  if (facts === undefined || isMetadataAlone(change)) return undefined;
  const content = await landed.read(change.path, side);
  if (content === undefined) return undefined;
  const isLink = facts.size === undefined && change.kind !== "row";
  const more: ChangeFacts = isLink
    ? { ...facts, target: pathFromBytes(content) }
    : { ...facts, digest: digestOfContent(content) };
  return { content, facts: { [side]: more } };
}

/** A file whose content has the same size and time on both sides was not exchanged. */
function isMetadataAlone({ operation, before, after }: Change): boolean {
  return operation === "modified" && before?.size === after?.size && before?.mtime === after?.mtime;
}
