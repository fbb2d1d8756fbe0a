import { join } from "node:path";
import type { ChosenPaths } from "../../commit/commit-all.ts";
import { assertLandsInParts } from "../../commit/participants.ts";
import type { ChangeSide, ExactPart } from "../../core/change.ts";
import { UnsupportedError, UsageError } from "../../core/errors/errors.ts";
import { displayPath, joinPath, parentPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import { type PlanRecord, resourceById } from "../../core/plan.ts";
import type { PlanSession } from "../../sandboxes/access/plan-session.ts";
import type { DiffEditor } from "../landing-views.ts";
import type { PlanChange } from "../plan-views.ts";
import { changeContent } from "../review/change-content.ts";
import { HandedFolders } from "./handed-folders.ts";

/** What of a plan lands because it came back from a diff editor. */
export interface EditedPart {
  /** The changes that land, as they are or edited. */
  readonly landing: readonly PlanChange[];
  readonly chosen: readonly ChosenPaths[];
  /** Everything came back as it is in the plan, so the plan can land as a whole. */
  readonly isWhole: boolean;
}

/** Larger files do not fit into a diff editor. */
const LARGEST = 64 * 1024 * 1024;
/** The journal holds what was edited. */
const LARGEST_EDIT = 4 * 1024 * 1024;
const MOST_NAMED = 1000;

/** A change that the editor gets, with the path that it has there. */
interface Handed {
  readonly change: PlanChange;
  readonly path: string;
  /** As the editor gets it; undefined if nothing is there. */
  readonly before: Content;
  readonly after: Content;
}

type Content = Uint8Array | "folder" | undefined;

interface Landing {
  readonly change: PlanChange;
  readonly edited?: Buffer;
}

/**
 * Hands the changes of a plan to a diff editor as two folders, and takes what came back in `after`:
 * - a path that is there as in the plan lands as it is in the plan;
 * - a path that is as in the original stays in the plan;
 * - another text lands as it is now, and the plan keeps its own version as work.
 *
 * The caller makes sure that the plan and its originals are still what the editor was given.
 */
export async function editedPart(
  session: PlanSession,
  plan: PlanRecord,
  { all, handed }: { readonly all: readonly PlanChange[]; readonly handed: readonly PlanChange[] },
  editor: DiffEditor,
): Promise<EditedPart> {
  const isOnly = plan.resources.length === 1;
  const shown = handed
    .map((change) => ({ change, path: isOnly ? change.path : joinPath(change.resource, change.path) }))
    .filter(({ change, path }) => isShown(change) && path !== ROOT_PATH);
  const unshown = handed.length - shown.length;
  if (shown.length === 0)
    throw new UsageError("The plan has no changes that a diff editor could show.", { code: "NO_MATCH" });
  await assertInParts(session, plan, new Set(shown.map(({ change }) => change.resource)));
  using folders = new HandedFolders(join(session.stateDir, "edit"));
  const given: Handed[] = [];
  for (const each of shown) given.push(await put(session, plan, each, folders));
  const { before, after } = folders;
  const paths = given.filter((each) => !isFolder(each)).map(({ path }) => path);
  if (!(await editor.edit({ before, after, paths, unshown })))
    throw new UnsupportedError("The diff editor ended without success.", { hint: "Nothing was changed." });
  const known = new Set(given.map(({ path }) => path));
  const foreign = [...folders.returnedPaths()].filter((path) => !known.has(path));
  if (foreign.length > 0) editor.onIgnored(foreign);
  const landing = [...landingOf(given, folders), ...landingFolders(given, folders)];
  if (landing.length === 0)
    throw new UsageError("Nothing came back from the diff editor that would land.", {
      hint: "What is to land stays in the right folder as it is in the plan, or edited.",
      code: "NO_MATCH",
    });
  const isWhole = landing.length === all.length && landing.every(({ edited }) => edited === undefined);
  const byResource = [...Map.groupBy(landing, ({ change }) => change.resource)];
  return {
    landing: landing.map(({ change }) => change),
    chosen: byResource.map(([resource, some]) => chosenOf(resource, some)),
    isWhole,
  };
}

/** What can't land in parts is refused before the user works on it. */
async function assertInParts(
  { store, sandboxes }: PlanSession,
  plan: PlanRecord,
  resources: ReadonlySet<string>,
): Promise<void> {
  for (const { ref } of await store.sandboxesOf(plan.id)) {
    const resource = resourceById(plan, ref.resourceId)?.name;
    if (resource !== undefined && resources.has(resource))
      await assertLandsInParts(sandboxes, { ref, resource }, true);
  }
}

/** What can be shown as a file of its content, or is a folder. */
function isShown({ kind, before, after }: PlanChange): boolean {
  if (kind === "directory" || kind === "symlink") return true;
  return kind === "file" && Math.max(before?.size ?? 0, after?.size ?? 0) <= LARGEST;
}

async function put(
  session: PlanSession,
  plan: PlanRecord,
  { change, path }: Pick<Handed, "change" | "path">,
  folders: HandedFolders,
): Promise<Handed> {
  const [before, after] = [
    await contentOf(session, plan, change, "before"),
    await contentOf(session, plan, change, "after"),
  ];
  for (const [side, content] of [
    ["before", before],
    ["after", after],
  ] as const) {
    if (content === "folder") folders.putFolder(side, path);
    else if (content !== undefined) folders.put(side, path, content);
  }
  return { change, path, before, after };
}

/** A link is shown as a file with its target: an editor would follow it, and write to where it leads. */
async function contentOf(
  session: PlanSession,
  plan: PlanRecord,
  change: PlanChange,
  side: ChangeSide,
): Promise<Content> {
  const { resource, path, operation, kind } = change;
  const facts = change[side];
  if (facts === undefined || operation === (side === "before" ? "added" : "deleted")) return undefined;
  if (facts.target !== undefined) return Buffer.from(facts.target);
  const isFile = facts.digest !== undefined;
  if (!isFile) return kind === "directory" || operation === "typechanged" ? "folder" : undefined;
  return await changeContent(plan, session.sandboxes, { resource, path, side, digest: facts.digest });
}

function isFolder({ before, after }: Handed): boolean {
  return (before ?? after) === "folder" && (after ?? before) === "folder";
}

function landingOf(given: readonly Handed[], folders: HandedFolders): readonly Landing[] {
  const landing: Landing[] = [];
  for (const handed of given) {
    if (isFolder(handed)) continue;
    const { change, path, before, after } = handed;
    const returned = folders.returned(path);
    if (isSame(returned, after)) landing.push({ change });
    else if (!isSame(returned, before)) landing.push({ change, edited: editedContent(handed, returned) });
  }
  return landing;
}

function isSame(returned: ReturnType<HandedFolders["returned"]>, content: Content): boolean {
  return returned instanceof Buffer && content instanceof Uint8Array
    ? returned.equals(content)
    : returned === content;
}

function editedContent({ change, path }: Handed, returned: ReturnType<HandedFolders["returned"]>): Buffer {
  const { kind, operation } = change;
  if (!(returned instanceof Buffer) || kind !== "file" || (operation !== "modified" && operation !== "added"))
    throw new UnsupportedError(
      `${displayPath(path)} came back as something else than the plan or the original has.`,
      {
        hint: "Only texts that the plan adds or modifies can be edited. Leave others as they are, or as they were.",
      },
    );
  if (returned.length > LARGEST_EDIT)
    throw new UnsupportedError(`${displayPath(path)} is too large to land as it was edited.`, {
      hint: `Up to ${LARGEST_EDIT / 1024 / 1024} MiB can. Leave it as it is in the plan, or as it was.`,
      code: "TOO_LARGE",
    });
  return returned;
}

/** The folders that come, go or get other metadata, and in which every change lands. */
function landingFolders(given: readonly Handed[], folders: HandedFolders): readonly Landing[] {
  const staying = new Set<string>();
  for (const { path, before, after, change } of given) {
    const returned = folders.returned(path);
    if (change.operation === "modified" && change.kind === "directory") continue;
    if (isSame(returned, after) || !isSame(returned, before)) continue;
    for (let at = path; !staying.has(at); at = parentPath(at)) staying.add(at);
  }
  return given.filter((each) => isFolder(each) && !staying.has(each.path));
}

function chosenOf(resource: string, landing: readonly Landing[]): ChosenPaths {
  const paths = landing.map(({ change }) => change.path);
  const edited = landing.flatMap(({ change, edited: content }) =>
    content === undefined ? [] : [[change.path, content.toString("base64")] as const],
  );
  const exactly: ExactPart = { paths, ...(edited.length > 0 && { edited: Object.fromEntries(edited) }) };
  return { resource, only: paths.slice(0, MOST_NAMED), exactly };
}
