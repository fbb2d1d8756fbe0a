import { parentPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import type { PlanChange, PlanRename } from "../plan-views.ts";

/** The rename by which a path came or went, if one did. */
export class RenameIndex {
  readonly #sides: { readonly from: Map<string, PlanRename>; readonly to: Map<string, PlanRename> };

  constructor(renames: readonly PlanRename[]) {
    const by = (side: "from" | "to") =>
      new Map(renames.map((rename) => [keyOf(rename.resource, rename[side]), rename]));
    this.#sides = { from: by("from"), to: by("to") };
  }

  of({
    resource,
    path,
    operation,
  }: Pick<PlanChange, "resource" | "path" | "operation">): PlanRename | undefined {
    if (operation !== "added" && operation !== "deleted") return undefined;
    const side = operation === "added" ? "to" : "from";
    if (this.#sides[side].size === 0) return undefined;
    for (let at = path; ; at = parentPath(at)) {
      const rename = this.#sides[side].get(keyOf(resource, at));
      if (rename !== undefined && (at === path || rename.kind === "directory")) return rename;
      if (at === ROOT_PATH || at === parentPath(at)) return undefined;
    }
  }
}

function keyOf(resource: string, path: string): string {
  return `${resource}\0${path}`;
}

/** How many entries were renamed. */
export function renamedEntries(renames: readonly PlanRename[]): number {
  return renames.reduce((sum, { entries = 0 }) => sum + 1 + entries, 0);
}
