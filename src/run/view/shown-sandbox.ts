import { UnsupportedError } from "../../core/errors/errors.ts";
import { displayPath, isAtOrBelow, parentPath } from "../../core/paths/byte-path.ts";
import type { ProgramView } from "../../core/program-view.ts";

/** A sandbox and where a command finds it. */
export interface ShownSandbox {
  readonly sandboxId: string;
  /**
   * The path at which it is shown: the original's, or for a file whose whole folder is shown, that folder's.
   */
  readonly at: string;
  readonly view: ProgramView;
  /** The original, if it is shown elsewhere than in its place: that stays as it is. */
  readonly original?: string;
  /** The original is a file, and only that is shown. */
  readonly isFile: boolean;
  /** A link to what is shown, which is put into the sandbox around it, in the place of the original. */
  readonly link?: { readonly at: string; readonly to: string };
}

/**
 * A single file in a folder that is in a sandbox itself. Both can't be shown in one place, so it is shown
 * where it is, and a link leads there from its place in the other sandbox, which leaves that name out. SQLite
 * follows such a link, and keeps its journals beside the file itself.
 */
export function shownByLink(sandboxId: string, original: string, view: ProgramView): ShownSandbox {
  const place = view.kind === "layers" ? view.upper : view.path;
  const to = view.only === undefined ? place : `${place}/${view.only}`;
  const own: ProgramView = { kind: "place", path: place, atOwnPath: true };
  return { sandboxId, at: place, view: own, isFile: false, link: { at: original, to } };
}

/** Where a view of this original goes. */
export function shownSandbox(
  sandboxId: string,
  original: string,
  view: ProgramView,
  isFile: boolean,
): ShownSandbox {
  if (view.kind === "place" && view.atOwnPath === true)
    return { sandboxId, at: view.path, view, original, isFile: false };
  const isFolder = view.only !== undefined || !isFile;
  return {
    sandboxId,
    at: view.only === undefined ? original : parentPath(original),
    view,
    isFile: !isFolder,
  };
}

/** What several sandboxes share is shown once; of two that would cover each other only one could be seen. */
export function distinctlyShown(shown: readonly ShownSandbox[]): readonly ShownSandbox[] {
  const first = new Map<string, ShownSandbox>();
  for (const item of shown) {
    const other = first.get(item.at);
    if (other === undefined) first.set(item.at, item);
    else if (!isSameView(other.view, item.view))
      throw new UnsupportedError(`Two resources in ${displayPath(item.at)} can't be shown to one command.`, {
        hint: "Make their folder the resource, or put each into a plan of its own.",
      });
  }
  // The links of those that are shown together are all needed.
  return shown.filter((item) => first.get(item.at) === item || item.link !== undefined);
}

function isSameView(one: ProgramView, other: ProgramView): boolean {
  if (one.kind === "place" && other.kind === "place")
    return one.atOwnPath === true && one.path === other.path;
  return one.kind === "layers" && other.kind === "layers" && one.upper === other.upper;
}

/** Paths of the host that a sandbox refers to: they are shown as they are. */
export function refersTo(shown: readonly ShownSandbox[]): readonly string[] {
  return [...new Set(shown.flatMap(({ view }) => (view.kind === "place" ? (view.refersTo ?? []) : [])))];
}

/**
 * Where a command finds what is at this path on the host: in a sandbox that is shown elsewhere, the same
 * place there.
 */
export function pathInside(
  path: string,
  shown: readonly ShownSandbox[],
  isFolder: (path: string) => boolean,
): string {
  const moved = shown.find(({ original }) => original !== undefined && isAtOrBelow(path, original));
  if (moved?.original === undefined) return path;
  // What is not part of the sandbox, such as a folder that git ignores, is not there.
  for (let at = `${moved.at}${path.slice(moved.original.length)}`; ; at = parentPath(at))
    if (at.length <= moved.at.length || isFolder(at)) return at.length < moved.at.length ? moved.at : at;
}
