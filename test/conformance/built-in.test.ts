import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe } from "node:test";
import { CopyOnWriteStrategy } from "../../src/strategies/copy-on-write/copy-on-write.ts";
import { FilesystemCopyStrategy } from "../../src/strategies/filesystem-copy/filesystem-copy.ts";
import { NoneStrategy } from "../../src/strategies/none/none.ts";
import { type ImageFileSystem, type MountedImage, mountImage, whyNoImages } from "../support/file-systems.ts";
import { IS_LONG } from "../support/long-form.ts";
import { describeConformance, folderFactory, OF_FILE_SYSTEMS } from "./describe-conformance.ts";

const skip = whyNoImages();

/** Runs the suite in a file system of its own. */
function onImage(kind: ImageFileSystem, run: (folder: () => string) => void): void {
  describe(`on ${kind}`, () => {
    let image: MountedImage | undefined;
    before(() => {
      if (skip !== undefined) return;
      image = mountImage(kind);
      mkdirSync(join(image.path, "folder"));
    });
    after(() => image?.remove());
    run(() => join(image?.path ?? "", "folder"));
  });
}

describeConformance(
  "filesystem_copy",
  folderFactory((context) => new FilesystemCopyStrategy(context)),
);

describeConformance(
  "none, which works in place",
  folderFactory((context) => new NoneStrategy(context)),
  {
    excludes: [
      "life cycle",
      "isolation",
      "diff",
      "path safety",
      "exactness",
      "nothing to commit",
      "two-phase",
      "undo",
      "parts",
      "checkpoints",
      "conflicts",
      "concurrency",
    ],
  },
);

for (const kind of ["xfs", "btrfs"] as const) {
  onImage(kind, (folder) => {
    describeConformance(
      "copy_on_write",
      folderFactory((context) => new CopyOnWriteStrategy(context), folder),
      {
        scratchDir: folder,
        oneIn: 3,
        ...(skip !== undefined && { skip }),
        ...(!IS_LONG && kind !== "xfs" && { groups: OF_FILE_SYSTEMS }),
      },
    );
  });
}

onImage("ext4", (folder) => {
  describeConformance(
    "filesystem_copy with its state on another file system",
    folderFactory((context) => new FilesystemCopyStrategy(context), folder),
    { oneIn: 3, ...(skip !== undefined && { skip }), ...(!IS_LONG && { groups: OF_FILE_SYSTEMS }) },
  );
});
