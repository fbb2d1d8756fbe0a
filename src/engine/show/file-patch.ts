import type { Change, ChangeFacts, ChangeKind } from "../../core/change.ts";
import { bytesFromPath, displayPath } from "../../core/paths/byte-path.ts";
import { digestOfContent } from "../../system/data/content-digest.ts";
import { binaryPatch, LARGEST_BINARY } from "./binary-patch.ts";
import { gitPath } from "./git-path.ts";
import { isBinary, LARGEST_TEXT, unifiedDiff } from "./text-diff.ts";

/**
 * Reads the content of a change's two sides, or returns undefined if it is not available. Called only for
 * shown changes.
 */
export interface PatchSources {
  readonly before: (path: string) => Promise<Uint8Array | undefined>;
  readonly after: (path: string) => Promise<Uint8Array | undefined>;
}

/**
 * One change as a patch for `git apply`, in bytes, because files are bytes. Everything that a patch can't
 * express (folders, owners, attributes, times, content that can't be shown, warnings) comes first, in lines
 * that begin with `#`, which git and `patch` skip.
 */
export async function filePatch(
  change: Change,
  sources: PatchSources,
  options: PatchForm = {},
): Promise<Buffer> {
  const { shownPath = change.path } = options;
  const before = await patchSide(change, change.before, sources.before, options);
  const after = await patchSide(change, change.after, sources.after, options);
  const patch = sidesPatch(shownPath, before, after);
  const notes = [...notesOn(change, before, after, patch.length === 0), ...(change.warnings ?? [])];
  return Buffer.concat([
    ...notes.map((note) => Buffer.from(`# ${displayPath(shownPath)}: ${note}\n`)),
    patch,
  ]);
}

export interface PatchForm {
  /** The name in the header, if it differs from the change's path. */
  readonly shownPath?: string;
  /** Says of a file that is not text only that it differs. Git does not take such a patch. */
  readonly onlyText?: boolean;
}

/** An entry under another name, as git writes it. A patch has no folders, so of these it is a note. */
export function renamePatch(kind: ChangeKind, from: string, to: string): Buffer {
  if (kind === "directory")
    return Buffer.from(`# ${displayPath(to)}: directory renamed from ${displayPath(from)}\n`);
  const header = `diff --git ${gitPath(`a/${from}`)} ${gitPath(`b/${to}`)}\n`;
  const names = `similarity index 100%\nrename from ${gitPath(from)}\nrename to ${gitPath(to)}\n`;
  return Buffer.from(header + names, "latin1");
}

/** One side of a change that git can express: a file, or a symbolic link, whose content is its target. */
interface PatchSide {
  readonly mode: string;
  readonly digest?: string;
  /** The content, or why it is not shown. */
  readonly content: "unchanged" | "unknown" | "too large" | "binary" | Uint8Array;
  readonly isBinary?: boolean;
}

const NOT_IN_FILES: readonly ChangeKind[] = ["row", "table", "object"];

/** Only files have a size, and only compared content has a digest. */
async function patchSide(
  change: Change,
  facts: ChangeFacts | undefined,
  read: PatchSources["before"],
  { onlyText }: PatchForm,
): Promise<PatchSide | undefined> {
  if (NOT_IN_FILES.includes(change.kind)) return undefined;
  if (facts?.target !== undefined) return { mode: "120000", content: bytesFromPath(facts.target) };
  if (facts?.size === undefined) return undefined;
  const mode = (0o100000 | (facts.mode ?? 0o644)).toString(8);
  const { digest } = facts;
  if (digest === undefined) return { mode, content: isMetadataChange(change) ? "unchanged" : "unknown" };
  if (change.binary && onlyText === true) return { mode, digest, content: "binary" };
  if (facts.size > (change.binary ? LARGEST_BINARY : LARGEST_TEXT))
    return { mode, digest, content: "too large" };
  const bytes = await read(change.path);
  if (bytes === undefined || digestOfContent(bytes) !== digest) return { mode, digest, content: "unknown" };
  const isNoText = change.binary === true || isBinary(bytes);
  return { mode, digest, isBinary: isNoText, content: isNoText && onlyText === true ? "binary" : bytes };
}

function isMetadataChange({ operation, before, after }: Change): boolean {
  return operation === "modified" && before?.digest === undefined && after?.digest === undefined;
}

/** In git, a change of type is a deletion and an addition. */
function sidesPatch(path: string, before: PatchSide | undefined, after: PatchSide | undefined): Buffer {
  if (before === undefined || after === undefined || before.mode.slice(0, 3) === after.mode.slice(0, 3)) {
    return gitPatch(path, before, after);
  }
  return Buffer.concat([gitPatch(path, before, undefined), gitPatch(path, undefined, after)]);
}

function gitPatch(path: string, before: PatchSide | undefined, after: PatchSide | undefined): Buffer {
  const isNew = before === undefined || after === undefined;
  // An addition without content would be a patch that makes an empty file.
  if (isNew && (isHidden(before) || isHidden(after))) return Buffer.alloc(0);
  const modes = modeLines(before, after);
  const body = contentPatch(path, before, after);
  if (modes === "" && body.length === 0) return body;
  const header = `diff --git ${gitPath(`a/${path}`)} ${gitPath(`b/${path}`)}\n${modes}`;
  return Buffer.concat([Buffer.from(header, "latin1"), body]);
}

function modeLines(before: PatchSide | undefined, after: PatchSide | undefined): string {
  if (before === undefined) return after === undefined ? "" : `new file mode ${after.mode}\n`;
  if (after === undefined) return `deleted file mode ${before.mode}\n`;
  return before.mode === after.mode ? "" : `old mode ${before.mode}\nnew mode ${after.mode}\n`;
}

function contentPatch(path: string, before: PatchSide | undefined, after: PatchSide | undefined): Buffer {
  if (
    isHidden(before) ||
    isHidden(after) ||
    (before?.digest !== undefined && before.digest === after?.digest)
  )
    return Buffer.alloc(0);
  const [old, fresh] = [before?.content, after?.content];
  if (typeof old !== "string" && typeof fresh !== "string")
    return before?.isBinary === true || after?.isBinary === true
      ? binaryPatch(old, fresh)
      : unifiedDiff(path, old, fresh);
  const names = [before && gitPath(`a/${path}`), after && gitPath(`b/${path}`)].map(
    (name) => name ?? "/dev/null",
  );
  return Buffer.from(`Binary files ${names.join(" and ")} differ\n`, "latin1");
}

function isHidden(side: PatchSide | undefined): boolean {
  return side !== undefined && typeof side.content === "string" && side.content !== "binary";
}

function notesOn(
  change: Change,
  before: PatchSide | undefined,
  after: PatchSide | undefined,
  isAlone: boolean,
): string[] {
  const notes = [
    ...kindNotes(change, before, after),
    ...contentNotes(change, before, after),
    ...metadataNotes(change, after),
  ];
  return notes.length === 0 && isAlone ? [timeNote(change)] : notes;
}

/** Notes for folders, fifos, sockets and devices that come or go, and for changes that are not in files. */
function kindNotes(
  { operation, kind, before, after }: Change,
  oldSide: PatchSide | undefined,
  newSide: PatchSide | undefined,
): string[] {
  if (operation === "modified") return NOT_IN_FILES.includes(kind) ? [`modified ${kind}`] : [];
  if (oldSide === undefined && newSide === undefined)
    return [`${operation} ${kind}${modeOf(after ?? before)}`];
  if (operation !== "typechanged") return [];
  if (newSide === undefined) return [`now a ${kind}${modeOf(after)}`];
  return oldSide === undefined ? ["was of another kind"] : [];
}

function contentNotes(
  { operation }: Change,
  before: PatchSide | undefined,
  after: PatchSide | undefined,
): string[] {
  const contents = [before?.content, after?.content];
  if (contents.includes("too large")) return [`${operation}, and too large to be shown`];
  return contents.includes("unknown") ? [`${operation}, but its content can't be had now`] : [];
}

function metadataNotes({ operation, before, after }: Change, newSide: PatchSide | undefined): string[] {
  if (operation !== "modified" || before === undefined || after === undefined) return [];
  const notes: string[] = [];
  if (newSide === undefined && before.mode !== after.mode)
    notes.push(`mode${modeOf(before)} →${modeOf(after)}`);
  if (before.uid !== after.uid || before.gid !== after.gid)
    notes.push(`owner ${before.uid}:${before.gid} → ${after.uid}:${after.gid}`);
  return notes;
}

function modeOf(facts: ChangeFacts | undefined): string {
  return facts?.mode === undefined ? "" : ` ${facts.mode.toString(8).padStart(4, "0")}`;
}

/** The note for a change whose content, mode and owner are the same. */
function timeNote({ before, after }: Change): string {
  if (before?.mtime !== after?.mtime) return `time ${before?.mtime} → ${after?.mtime}`;
  return after?.digest === undefined ? "attributes changed" : "the same content, but shared with other names";
}
