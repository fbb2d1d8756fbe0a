import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { bytesFromPath, pathFromBytes } from "../../core/paths/byte-path.ts";
import { failedWith } from "../calls/errno.ts";
import { Folder } from "../calls/folder.ts";
import { armFailpoints, failpoint } from "../failpoints.ts";
import { liveMounts } from "./live-mounts.ts";
import { mountByDescriptors, mountByPaths, mountOverlay, type OverlayLayers } from "./overlay-mount.ts";
import { isMountPoint, unmount } from "./unmount.ts";

const POINT = failpoint("test.overlay-mount");
const NEEDS_ROOT = process.getuid?.() === 0 ? false : "needs root";
const NAMES = ["lower", "upper", "work", "merged"] as const;
const ODD_NAMES = {
  plain: "plain",
  "a comma, a colon: and an equals=": "a,b:c=d",
  "a backslash and a blank": "a\\b c\\",
  "a line end": "a\nb",
  "bytes that are not UTF-8": pathFromBytes(Buffer.from([0x61, 0xff, 0xfe])),
  "6,000 bytes": Array.from({ length: 30 }, () => "n".repeat(200)).join("/"),
};

let root: string;
let source: string;
let opened: Folder[];

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "drydock-overlay-mount-"));
  source = `drydock:${root}`;
  opened = [];
});

afterEach(() => {
  armFailpoints(undefined);
  for (const folder of opened) folder.close();
  for (const { mountPoint, isOurs } of liveMounts(source))
    if (isOurs) spawnSync("umount", ["--lazy", mountPoint]);
  rmSync(root, { recursive: true, force: true });
});

/** The four folders below a folder of this name, which may be deeper than one path can say. */
function place(name: string): { layers: OverlayLayers; merged: Folder; parent: Folder } {
  let parent = open(Folder.open(root));
  for (const step of name.split("/")) {
    if (parent.facts(step) === undefined) parent.createFolder(POINT, step, 0o755);
    parent = open(parent.openChild(step));
  }
  for (const child of NAMES) parent.createFolder(POINT, child, 0o755);
  const [lower, upper, work, merged] = NAMES.map((child) => open(parent.openChild(child)));
  writeFileSync(`/proc/self/fd/${lower!.fd}/file`, "lower");
  return { layers: { lower: lower!, upper: upper!, work: work! }, merged: merged!, parent };
}

function open(folder: Folder): Folder {
  opened.push(folder);
  return folder;
}

/** Writes through the mount, sees it in the upper layer only, and unmounts. */
async function assertIsolates({ layers, parent }: ReturnType<typeof place>): Promise<void> {
  assert.ok(isMountPoint(parent, "merged"));
  const merged = parent.openChild("merged");
  assert.equal(readFileSync(`/proc/self/fd/${merged.fd}/file`, "utf8"), "lower");
  writeFileSync(`/proc/self/fd/${merged.fd}/file`, "changed");
  merged.close();
  assert.equal(readFileSync(`/proc/self/fd/${layers.lower.fd}/file`, "utf8"), "lower");
  assert.equal(readFileSync(`/proc/self/fd/${layers.upper.fd}/file`, "utf8"), "changed");
  execFileSync("umount", ["merged"], { cwd: `/proc/self/fd/${parent.fd}` });
  assert.ok(!isMountPoint(parent, "merged"));
}

describe("mountOverlay", { skip: NEEDS_ROOT }, () => {
  for (const [what, name] of Object.entries(ODD_NAMES)) {
    it(`[O3] mounts below a name with ${what}`, async () => {
      const made = place(name);
      mountOverlay(POINT, made.layers, made.merged, { source });
      await assertIsolates(made);
    });

    it(`[O3] mounts by mount(2) below a name with ${what}`, async () => {
      const made = place(name);
      mountByPaths(made.layers, made.merged, source);
      await assertIsolates(made);
    });
  }

  it("uses descriptors where the kernel takes them, as this one does", () => {
    const { layers, merged } = place("here");
    assert.equal(mountByDescriptors(layers, merged, source), "done");
  });

  it("mounts again after a volatile mount, as often as asked", async () => {
    const { layers, merged } = place("here");
    for (let round = 0; round < 3; round += 1) {
      mountOverlay(POINT, layers, merged, { source });
      assert.equal(await unmount(POINT, merged.path), "done");
      assert.ok(existsSync(join(layers.work.path, "work/incompat/volatile")));
    }
  });

  for (const [by, mount] of [
    ["descriptors", mountByDescriptors],
    ["mount(2)", mountByPaths],
  ] as const) {
    it(`is found by its source, without devices and with the options it was given, by ${by}`, () => {
      const { layers, merged } = place("here");
      mount(layers, merged, source);
      // A namespace that another test makes meanwhile has a copy of it.
      const ours = liveMounts(source).filter(({ isOurs }) => isOurs);
      assert.deepEqual(
        ours.map(({ mountPoint }) => mountPoint),
        [merged.path],
      );
      const [line = ""] = mountLines(merged.path);
      assert.match(line, /\bnodev\b/);
      assert.match(line, /\bredirect_dir=on\b/);
      assert.match(line, /\bvolatile\b/);
    });

    it(`is private below a shared mount, and goes from every place it spread to, by ${by}`, async () => {
      const [shared, peer] = [join(root, "shared"), join(root, "peer")];
      mkdirSync(shared);
      mkdirSync(peer);
      execFileSync("mount", ["-t", "tmpfs", source, shared]);
      execFileSync("mount", ["--make-shared", shared]);
      execFileSync("mount", ["--bind", shared, peer]);
      const { layers, merged } = place("shared/here");
      mount(layers, merged, source);
      assert.doesNotMatch(mountLines(merged.path)[0] ?? "", / shared:/);
      assert.equal(mountLines(join(peer, "here/merged")).length, 1);
      assert.equal(await unmount(POINT, merged.path), "done");
      assert.equal(mountLines(join(peer, "here/merged")).length, 0);
    });
  }

  it("says in the kernel's words why it can't, and leaves nothing mounted", () => {
    mkdirSync(join(root, "read-only"));
    execFileSync("mount", ["-t", "tmpfs", "-o", "ro", source, join(root, "read-only")]);
    const { layers, merged, parent } = place("here");
    const upper = open(Folder.open(join(root, "read-only")));
    assert.throws(
      () => mountOverlay(POINT, { ...layers, upper }, merged, { source }),
      (thrown) => failedWith(thrown, "EINVAL") && /read-only/.test(String(thrown)),
    );
    assert.ok(!isMountPoint(parent, "merged"));
  });

  it("points to the kernel's log where the kernel says nothing else", () => {
    const { layers, merged, parent } = place("here");
    const work = open(layers.upper.duplicate());
    assert.throws(
      () => mountOverlay(POINT, { ...layers, work }, merged, { source }),
      /kernel log says why \(EINVAL\)/,
    );
    assert.ok(!isMountPoint(parent, "merged"));
  });

  it("touches nothing if its failpoint fails", () => {
    const { layers, merged, parent } = place("here");
    armFailpoints("test.overlay-mount=error");
    assert.throws(() => mountOverlay(POINT, layers, merged, { source }), /failpoint/);
    assert.ok(!isMountPoint(parent, "merged"));
  });
});

function mountLines(point: string): string[] {
  return readFileSync("/proc/self/mountinfo", "latin1")
    .split("\n")
    .filter((line) => line.split(" ")[4] === bytesFromPath(point).toString("latin1"));
}
