import type { Folder } from "../../system/calls/folder.ts";
import { readWhole } from "../../system/data/whole-file.ts";
import { readRef, readRefs } from "../git-worktree/repository/ref-files.ts";
import { readLog } from "../git-worktree/repository/ref-log.ts";
import type { RepositoryFolders } from "./layout.ts";

/** Where HEAD and the refs of a repository are. */
export interface RepositoryState {
  /** The content of HEAD. */
  readonly head: string;
  readonly refs: ReadonlyMap<string, string>;
}

/** The refs of Drydock itself are not the plan's. */
const OURS = "refs/drydock/";

/** The repository of a checkout, of a sandbox or of the user, with its folders open. */
export class OpenRepository {
  /** The folder with HEAD and the index. */
  readonly own: Folder;
  /** The folder with objects and refs. */
  readonly common: Folder;

  constructor(own: Folder, common: Folder) {
    this.own = own;
    this.common = common;
  }

  /** The repository in a folder; undefined if it is not there. */
  static in(folder: Folder, place: RepositoryFolders): OpenRepository | undefined {
    const own = folder.openBelowIfThere(place.own);
    if (own === undefined) return undefined;
    const common = folder.openBelowIfThere(place.common);
    if (common !== undefined) return new OpenRepository(own, common);
    own.close();
    return undefined;
  }

  /** Where HEAD and the refs are. */
  state(): RepositoryState {
    const refs = readRefs(this.common);
    for (const ref of refs.keys()) if (ref.startsWith(OURS)) refs.delete(ref);
    return { head: readRef(this.own, "HEAD") ?? "", refs };
  }

  /** The log of a ref, or of HEAD. */
  log(ref: string): string | undefined {
    return readLog(ref === "HEAD" ? this.own : this.common, ref);
  }

  /** The commits at which a shallow history ends. */
  shallow(): string | undefined {
    return this.common.facts("shallow")?.kind === "file"
      ? readWhole(this.common, "shallow")?.toString("latin1")
      : undefined;
  }

  [Symbol.dispose](): void {
    this.own.close();
    this.common.close();
  }
}
