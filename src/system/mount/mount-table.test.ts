import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MountTable, parseMounts } from "./mount-table.ts";

const TABLE = new MountTable(
  parseMounts(`
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
30 27 0:30 / /a rw,nosuid shared:1 - tmpfs one rw
31 30 0:31 / /a/b rw - tmpfs two rw
32 30 0:32 / /a ro - tmpfs three rw,size=4k
33 27 0:33 / /with\\040blank\\012and\\134\\351 rw,noatime - fuse.sshfs me@host:/ rw,user_id=1000
34 27 0:34 / /c/d rw - tmpfs four rw
35 27 0:35 / /c rw - tmpfs five rw
`),
);

describe("MountTable", () => {
  it("knows which mounts can be reached: not those under another one", () => {
    const points = TABLE.visible().map(({ id, point }) => [id, point]);
    assert.deepEqual(points, [
      [22, "/proc"],
      [27, "/"],
      [32, "/a"],
      [33, "/with blank\nand\\\udce9"],
      [35, "/c"],
    ]);
  });

  it("finds the mount that a path is on", () => {
    const idAt = (path: string) => TABLE.at(path)?.id;
    assert.deepEqual(
      ["/", "/x", "/a", "/a/b/c", "/ab", "/c/d/e", "/proc/self"].map(idAt),
      [27, 27, 32, 32, 27, 35, 22],
    );
  });

  it("reads flags, type, source and options, with and without optional fields", () => {
    const { flags, type, source, options } = TABLE.at("/a") ?? assert.fail();
    assert.deepEqual(
      { flags, type, source, options },
      { flags: ["ro"], type: "tmpfs", source: "three", options: ["rw", "size=4k"] },
    );
    assert.deepEqual(TABLE.at("/with blank\nand\\\udce9/x")?.options, ["rw", "user_id=1000"]);
  });

  it("reads the mounts of this process", () => {
    assert.equal(MountTable.read().at("/proc/self")?.type, "proc");
  });
});
