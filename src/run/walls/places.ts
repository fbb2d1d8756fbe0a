import { UnsupportedError } from "../../core/errors/errors.ts";
import { displayPath, isAtOrBelow } from "../../core/paths/byte-path.ts";
import type { ProgramView } from "../../core/program-view.ts";
import type { ShownSandbox } from "../view/shown-sandbox.ts";

/** The same sandbox at its own path: without mounts it can't be shown at the path of its original. */
export function inPlace(shown: ShownSandbox): ShownSandbox {
  const path = placeOf(shown.view, shown.original ?? shown.at);
  if (shown.link !== undefined) return { ...shown, at: path };
  const view = { kind: "place" as const, path, atOwnPath: true as const };
  return { ...shown, at: path, original: shown.original ?? shown.at, view };
}

/** Where a command works. */
export function firstPlace(entered: readonly { readonly shown?: ShownSandbox }[]): string {
  return entered.flatMap(({ shown }) => (shown === undefined ? [] : [inPlace(shown).at]))[0] ?? "/";
}

function placeOf(view: ProgramView, original: string): string {
  if (view.kind === "place") return view.path;
  // Layers that hide the file of the lower one hold the whole copy.
  if (view.hidden !== undefined) return view.upper;
  throw new UnsupportedError(
    `The sandbox of ${displayPath(original)} is an overlay that only a mount can show, and this machine allows none.`,
    { hint: "Make a plan with another strategy: filesystem_copy works everywhere." },
  );
}

/** The path in a sandbox of what the original has at `path`; the path itself outside of every sandbox. */
export function pathInPlace(path: string, places: readonly ShownSandbox[]): string {
  const linked = places.find(({ link }) => link?.at === path);
  if (linked?.link !== undefined) return linked.link.to;
  const found = places.find(({ original }) => original !== undefined && isAtOrBelow(path, original));
  return found?.original === undefined ? path : `${found.at}${path.slice(found.original.length)}`;
}
