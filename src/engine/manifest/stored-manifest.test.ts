import assert from "node:assert/strict";
import { appendFileSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { StateError } from "../../core/errors/errors.ts";
import { Folder } from "../../system/calls/folder.ts";
import { readStagingRecord, StagingRecordWriter } from "../staging/staging-record.ts";
import type { EntryIdentity, Manifest, ManifestEntry, ManifestHeader } from "./manifest.ts";
import { EntriesWriter, packIdentity, type SlotEntry } from "./manifest-entries.ts";
import { readManifest, wholeManifest, writeManifest } from "./stored-manifest.ts";

const IDENTITY: EntryIdentity = {
  kind: "file",
  mode: 0o644,
  uid: 1000,
  gid: 100,
  size: 5_000_000_000,
  mtime: [1_700_000_000, 123_456_789],
  ctime: [-5, 1],
  ino: 2 ** 52 + 1,
  btime: [1_600_000_000, 0],
};
const FOLDER: EntryIdentity = { ...IDENTITY, kind: "directory", ino: 7 };
const METADATA = { mode: 0o700, uid: 0, gid: 0, mtime: IDENTITY.mtime, xattrs: { "user.a": "00ff" } };
const HEADER: Omit<ManifestHeader, "version"> = {
  transaction: "T",
  root: { ino: 1, btime: [1, 2] },
  anchors: [],
  unlock: [],
  barrier: [3, 3],
  stagedAt: [4, 4],
};
const FOLDER_TIMES: Manifest["folderTimes"] = [{ path: ".", before: [1, 1], after: [2, 2] }];
const ENTRIES: readonly ManifestEntry[] = [
  { path: "added", operation: "add", before: undefined, after: IDENTITY },
  { path: "changed", operation: "replace", before: IDENTITY, after: { ...IDENTITY, ino: 3 } },
  { path: "closed", operation: "metadata", before: FOLDER, after: undefined, metadata: change() },
  { path: "closed/deep", operation: "metadata", before: FOLDER, after: undefined, metadata: change() },
  { path: "gone", operation: "delete", before: IDENTITY, after: undefined },
  { path: "mode", operation: "metadata", before: IDENTITY, after: undefined, metadata: change() },
  { path: "name", operation: "add", before: undefined, after: undefined, linkTo: "stays" },
];

describe("A stored manifest", () => {
  let path: string;
  let landing: Folder;
  beforeEach(() => {
    path = mkdtempSync(join(tmpdir(), "drydock-manifest-"));
    landing = Folder.open(path);
  });
  afterEach(() => {
    landing.close();
    rmSync(path, { recursive: true, force: true });
  });

  /** Writes it, the first entry last, as one that is settled later. */
  function write(): string {
    using writer = new EntriesWriter(landing, "entries");
    for (const slot of [1, 2, 3, 4, 5, 6, 0]) {
      const { path: at, operation, before, after, ...extras } = ENTRIES[slot] as ManifestEntry;
      writer.add({
        slot,
        path: at,
        operation,
        before: before && packIdentity(before),
        after: after && packIdentity(after),
        ...(Object.keys(extras).length > 0 && { extras }),
      });
    }
    for (const times of FOLDER_TIMES) writer.addFolderTimes(times);
    return writeManifest(landing, HEADER, writer.end());
  }

  it("is read as it was written, whatever the order of its entries", () => {
    const manifest = readManifest(landing, write());
    assert.ok(manifest !== undefined);
    assert.deepEqual(wholeManifest(manifest), {
      version: 2,
      ...HEADER,
      entries: ENTRIES,
      folderTimes: FOLDER_TIMES,
    });
  });

  it("gives what comes, what goes and what closes folders in the order of a landing", () => {
    const manifest = readManifest(landing, write());
    assert.deepEqual(paths(manifest?.entries.coming("forward")), ["changed", "mode", "name", "added"]);
    assert.deepEqual(paths(manifest?.entries.going("forward")), ["gone"]);
    assert.deepEqual(paths(manifest?.entries.coming("backward")), ["changed", "gone", "mode"]);
    assert.deepEqual(paths(manifest?.entries.going("backward")), ["name", "added"]);
    assert.deepEqual(paths(manifest?.entries.folderMetadata()), ["closed/deep", "closed"]);
  });

  it("is refused if a byte of it, or of its entries, is not what was prepared", () => {
    const digest = write();
    assert.throws(
      () =>
        readManifest(
          landing,
          digest.replace(/^./, (c) => (c === "0" ? "1" : "0")),
        ),
      StateError,
    );
    appendFileSync(join(path, "entries"), " ");
    assert.throws(() => readManifest(landing, digest), StateError);
    rmSync(join(path, "entries"));
    assert.throws(() => readManifest(landing, digest), StateError);
    truncateSync(join(path, "manifest"), 10);
    assert.throws(() => readManifest(landing), StateError);
    rmSync(join(path, "manifest"));
    assert.equal(readManifest(landing), undefined);
  });

  it("of version 1 is read too, with its entries in one text", () => {
    const old: Manifest = { version: 1, ...HEADER, entries: ENTRIES, folderTimes: FOLDER_TIMES };
    writeFileSync(join(path, "manifest"), JSON.stringify(old));
    const manifest = readManifest(landing);
    assert.deepEqual(paths(manifest?.entries.all()), paths(ENTRIES.map((entry, slot) => ({ entry, slot }))));
    assert.deepEqual(paths(manifest?.entries.coming("forward")), ["added", "changed", "mode", "name"]);
    assert.deepEqual(paths(manifest?.entries.going("backward")), ["added", "name"]);
    assert.deepEqual(paths(manifest?.entries.folderMetadata()), ["closed/deep", "closed"]);
    assert.deepEqual([...(manifest?.entries.folderTimes() ?? [])], FOLDER_TIMES);
  });
});

describe("The record of what leaves a sandbox", () => {
  let path: string;
  let landing: Folder;
  beforeEach(() => {
    path = mkdtempSync(join(tmpdir(), "drydock-staging-"));
    landing = Folder.open(path);
  });
  afterEach(() => {
    landing.close();
    rmSync(path, { recursive: true, force: true });
  });

  const moved = [
    { slot: 0, path: "a", is: { ino: 1, btime: [2, 3] as const } },
    { slot: 4, path: "closed", is: { ino: 5, btime: [6, 7] as const }, mode: 0o555 },
  ];
  const marked = [{ path: "a", marks: { "trusted.overlay.origin": "00" } }];
  const folders = [{ path: ".", mtime: [1, 1] as const, atime: [2, 2] as const }];

  function assertRecorded(): void {
    const record = readStagingRecord(landing);
    assert.deepEqual([...(record?.moved() ?? [])], moved);
    assert.deepEqual([...(record?.marked() ?? [])], marked);
    assert.deepEqual([...(record?.folders() ?? [])], folders);
  }

  it("is read as it was written, and is nothing where nothing left", () => {
    assert.deepEqual([...(readStagingRecord(landing)?.moved() ?? [])], []);
    using writer = new StagingRecordWriter(landing);
    for (const entry of moved) writer.addMoved(entry);
    for (const entry of marked) writer.addMarked(entry);
    for (const entry of folders) writer.addFolder(entry);
    writer.endFlushed();
    assertRecorded();
  });

  it("is unknown if a power cut left it empty or cut off", () => {
    writeFileSync(join(path, "staging"), "");
    assert.equal(readStagingRecord(landing), undefined);
    writeFileSync(join(path, "staging"), '["m",0,"a",[1,2,3],null]\n["m",1,"b');
    assert.equal(readStagingRecord(landing), undefined);
    writeFileSync(join(path, "staging"), '["m",0,"a",[1,2,3],null]\n');
    assert.equal(readStagingRecord(landing), undefined);
  });

  it("of Drydock 0.1.0 is read too", () => {
    writeFileSync(join(path, "staging"), JSON.stringify({ moved, marked, folders }));
    assertRecorded();
  });
});

function change(): NonNullable<ManifestEntry["metadata"]> {
  return { before: METADATA, after: { ...METADATA, mode: 0o500 }, parts: ["mode"] };
}

function paths(entries: Iterable<SlotEntry> | undefined): string[] {
  return [...(entries ?? [])].map(({ entry }) => entry.path);
}
