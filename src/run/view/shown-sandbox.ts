import { UnsupportedError } from "../../core/errors/errors.ts";
import { displayPath, isAtOrBelow, parentPath } from "../../core/paths/byte-path.ts";
import type { ProgramView } from "../../core/program-view.ts";

/** A sandbox and where a command finds it. */
export interface ShownSandbox {
  readonly sandboxId: string;
  /**
   * The path at which a command sees it: that of the original, or of the original's folder if the view shows
   * the whole folder of a file.
   */
  readonly at: string;
  readonly view: ProgramView;
  /**
   * The path of the original, if the sandbox is shown at another path. The command sees the original
   * unchanged.
   */
  readonly original?: string;
  /** Whether the original is a file, and only that file is shown. */
  readonly isFile: boolean;
  /** A link to the sandbox, put at the path of the original, inside the sandbox around it. */
  readonly link?: { readonly at: string; readonly to: string };
}

/**
 * A file whose folder is in another sandbox. One path can't show both, so the file is shown at its own path
 * in the workspace, and a link leads there from its path in the other sandbox, which excludes that name.
 * SQLite follows such a link and keeps its journals beside the real file.
 */
export function shownByLink(sandboxId: string, original: string, view: ProgramView): ShownSandbox {
  const place = view.kind === "layers" ? view.upper : view.path;
  const to = view.only === undefined ? place : `${place}/${view.only}`;
  const own: ProgramView = { kind: "place", path: place, atOwnPath: true };
  return { sandboxId, at: place, view: own, isFile: false, link: { at: original, to } };
}

/** Decides at which path a command sees the view of an original. */
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

/**
 * Drops views that several sandboxes share. Refuses two different views at one path, because one would cover
 * the other.
 */
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
  // Sandboxes that share a view still need a link each.
  return shown.filter((item) => first.get(item.at) === item || item.link !== undefined);
}

function isSameView(one: ProgramView, other: ProgramView): boolean {
  if (one.kind === "place" && other.kind === "place")
    return one.atOwnPath === true && one.path === other.path;
  return one.kind === "layers" && other.kind === "layers" && one.upper === other.upper;
}

/** Paths of the host that the sandboxes refer to. A command sees them unchanged. */
export function refersTo(shown: readonly ShownSandbox[]): readonly string[] {
  return [...new Set(shown.flatMap(({ view }) => (view.kind === "place" ? (view.refersTo ?? []) : [])))];
}

/** The path at which a command finds `path` of the host. It differs if a sandbox is shown at another path. */
export function pathInside(
  path: string,
  shown: readonly ShownSandbox[],
  isFolder: (path: string) => boolean,
): string {
  const moved = shown.find(({ original }) => original !== undefined && isAtOrBelow(path, original));
  if (moved?.original === undefined) return path;
  // A folder that is not part of the sandbox, such as one that git ignores, does not exist there.
  for (let at = `${moved.at}${path.slice(moved.original.length)}`; ; at = parentPath(at))
    if (at.length <= moved.at.length || isFolder(at)) return at.length < moved.at.length ? moved.at : at;
}
