import { UsageError } from "../core/errors/errors.ts";
import { baseName, joinPath, pathFromBytes, ROOT_PATH } from "../core/paths/byte-path.ts";
import type { PlanRecord } from "../core/plan.ts";
import { filePatch, type PatchForm, type PatchSources, renamePatch } from "../engine/show/file-patch.ts";
import type { PlanSandboxes } from "../sandboxes/plan-sandboxes.ts";
import type { PatchOptions, PlanChange, PlanDiff, PlanRename } from "./plan-views.ts";
import { RenameIndex } from "./renames/rename-index.ts";

/** The content of both sides of the changes of a resource. */
export type SidesOf = (resource: string) => Promise<PatchSources>;

/** The sides of what would land now. */
export function presentSides(plan: PlanRecord, sandboxes: PlanSandboxes): SidesOf {
  return async (resource) => {
    const { record, strategy } = await sandboxes.usable(plan, resource, "look");
    return {
      before: (path) => strategy.readOriginal(record.ref, path),
      after: (path) => unlessGone(strategy.read(record.ref, path)),
    };
  };
}

/** The changes of a diff as unified text, one piece for each path. */
export async function* patchOf(
  plan: PlanRecord,
  sidesOf: SidesOf,
  diff: Pick<PlanDiff, "changes" | "renames">,
  options: PatchOptions,
): AsyncGenerator<string> {
  const renames = new RenameIndex(diff.renames);
  for (const change of diff.changes) {
    const rename = renames.of(change);
    if (rename !== undefined) {
      yield* renamePiece(plan, change, rename);
      continue;
    }
    const sources = await sidesOf(change.resource);
    yield pathFromBytes(await filePatch(change, sources, patchForm(plan, change, options)));
  }
}

/** How a change of a plan is shown in a patch. */
export function patchForm(plan: PlanRecord, change: PlanChange, { onlyText }: PatchOptions): PatchForm {
  return { shownPath: shownPath(plan, change), onlyText: onlyText === true };
}

/** A rename is in the patch where its new name is. */
function* renamePiece(plan: PlanRecord, change: PlanChange, rename: PlanRename): Generator<string> {
  if (change.operation !== "added") return;
  const old = { ...change, path: rename.from + change.path.slice(rename.to.length) };
  yield pathFromBytes(renamePatch(change.kind, shownPath(plan, old), shownPath(plan, change)));
}

/** The path of a change in a patch: a resource that is a file is shown by its name. */
function shownPath({ resources }: PlanRecord, { resource, path, kind }: PlanChange): string {
  const isOnly = resources.length === 1;
  if (path !== ROOT_PATH || kind === "directory") return isOnly ? path : joinPath(resource, path);
  return isOnly ? baseName(resources[0]?.resource.location ?? resource) : resource;
}

/** A file may vanish between the diff and the read. */
async function unlessGone(content: Promise<Uint8Array>): Promise<Uint8Array | undefined> {
  try {
    return await content;
  } catch (thrown) {
    if (thrown instanceof UsageError && thrown.code === "NO_SUCH_FILE") return undefined;
    throw thrown;
  }
}
