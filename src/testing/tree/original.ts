import type { ChangeKind } from "../../core/change.ts";
import { digestOf } from "../../system/data/digest.ts";
import type { ContentFixture, FolderFixture, ResourceFixture } from "../strategy-factory.ts";
import { snapshotTree, type TreeSnapshot } from "./tree-snapshot.ts";
import type { Steps } from "./work-tree.ts";

/** The original of one case, without the strategy. */
export interface Original {
  /** Its folder; undefined if the original is not one. */
  readonly folder: string | undefined;
  /** The kind of its entries in a change. */
  readonly kind: ChangeKind;
  snapshot(): Promise<TreeSnapshot>;
  /** Writes one of its entries. */
  write(path: string, content: string | Uint8Array): Promise<void>;
}

/** `perform` runs steps in a folder. */
export function originalOf(
  made: ResourceFixture,
  isLeftOut: (name: string) => boolean,
  perform: (path: string, steps: Steps) => void,
): Original {
  return "content" in made ? contentOriginal(made) : folderOriginal(made, isLeftOut, perform);
}

function folderOriginal(
  { originalPath }: FolderFixture,
  isLeftOut: (name: string) => boolean,
  perform: (path: string, steps: Steps) => void,
): Original {
  return {
    folder: originalPath,
    kind: "file",
    snapshot: async () => snapshotTree(originalPath, isLeftOut),
    write: async (path, text) => perform(originalPath, (tree) => tree.write(path, text)),
  };
}

function contentOriginal({ content, kind = "file" }: ContentFixture): Original {
  return {
    folder: undefined,
    kind,
    snapshot: async () => {
      const snapshot = new Map<string, { readonly kind: string; readonly content: string }>();
      for (const path of [...(await content.list())].sort()) {
        snapshot.set(path, { kind, content: digestOf(await content.read(path)) });
      }
      return snapshot;
    },
    write: async (path, text) =>
      await content.write(path, typeof text === "string" ? Buffer.from(text) : text),
  };
}
