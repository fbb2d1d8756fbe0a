import { ROOT_PATH } from "../../src/core/paths/byte-path.ts";
import { TreeHand } from "./tree-hand.ts";

/**
 * A small tree with every kind of entry, and a change of it that does everything that can be done: the tree
 * that whatever promises "all or nothing" and "exactly as it was" is tried on. Both are the same in every
 * attribute each time they are made.
 */
const IS_ROOT = process.geteuid?.() === 0;
const BYTES_NAME = "names/b\udcff\udcfeytes";
const CONTROL_NAME = "names/new\nline\u0007";
const LONG_NAME = `names/${"l".repeat(255)}`;

/** An ACL as the kernel keeps it: the owner, one more user, the group, the mask, others. */
function acl(userBits: number): Buffer {
  const entries: readonly (readonly [tag: number, bits: number, id: number])[] = [
    [0x01, 6, 0xffffffff],
    [0x02, userBits, 12345],
    [0x04, 4, 0xffffffff],
    [0x10, 6, 0xffffffff],
    [0x20, 0, 0xffffffff],
  ];
  const bytes = Buffer.alloc(4 + entries.length * 8);
  bytes.writeUInt32LE(2, 0);
  entries.forEach(([tag, bits, id], at) => {
    bytes.writeUInt16LE(tag, 4 + at * 8);
    bytes.writeUInt16LE(bits, 6 + at * 8);
    bytes.writeUInt32LE(id, 8 + at * 8);
  });
  return bytes;
}

/** Fills an empty folder. */
export function buildRichTree(root: string): void {
  const hand = new TreeHand(root, "before");
  for (const name of ["same", "edit", "same-size", "gone", "mode", "owner", "xattr", "acl", "time"])
    hand.file(`plain-${name}`, `${name} as it was\n`, 0o640);
  hand.xattr("plain-xattr", "user.old", "old");
  hand.xattr("plain-edit", "user.kept", Buffer.of(0, 255, 10));
  buildKinds(hand);
  buildLinks(hand);
  buildFolders(hand);
  for (const name of [BYTES_NAME, CONTROL_NAME, LONG_NAME]) hand.file(name, "odd name\n");
  hand.sparse("sparse", 1 << 20, [0, 512 * 1024], "s");
  hand.time("plain-same", [-1234567, 123456789]);
  hand.time("plain-edit", [4_000_000_000, 1]);
  hand.xattr(ROOT_PATH, "user.root", "before");
  hand.mode(ROOT_PATH, 0o750);
  hand.finish();
}

function buildKinds(hand: TreeHand): void {
  hand.folder("kinds");
  for (const to of ["link", "folder", "fifo"]) hand.file(`kinds/file-to-${to}`, "a file\n");
  for (const to of ["file", "folder", "other-link"]) hand.link(`kinds/link-to-${to}`, "../plain-same");
  for (const to of ["file", "link"]) {
    hand.folder(`kinds/folder-to-${to}`);
    hand.file(`kinds/folder-to-${to}/inner`, "inner\n");
  }
  hand.link("kinds/broken", "no/such/place");
  hand.node("kinds/fifo-to-file", "fifo");
  hand.node("kinds/fifo-stays", "fifo");
  hand.node("kinds/fifo-gone", "fifo");
  hand.node("kinds/socket-stays", "socket");
  if (IS_ROOT) hand.node("kinds/device-stays", "device", "1:3");
}

function buildLinks(hand: TreeHand): void {
  hand.folder("links");
  for (const group of ["changed", "split", "shrinking", "growing", "both-gone", "moved-mode"]) {
    hand.file(`links/${group}-1`, `${group} group\n`, 0o600);
    hand.hardLink(`links/${group}-2`, `links/${group}-1`);
  }
}

function buildFolders(hand: TreeHand): void {
  hand.folder("names");
  hand.folder("empty-gone");
  hand.folder("folder-mode", 0o755);
  hand.file("folder-mode/inside", "inside\n");
  hand.folder("folder-xattr");
  hand.folder("shared", 0o2775);
  hand.file("shared/old", "old\n");
  hand.folder("replaced/deep/deeper");
  hand.file("replaced/deep/deeper/file", "old content\n", 0o400);
  hand.link("replaced/link", "deep");
  hand.folder("deleted/deep");
  hand.file("deleted/deep/file", "to be deleted\n", 0o444);
  hand.hardLink("deleted/second-name", "deleted/deep/file");
  hand.node("deleted/fifo", "fifo");
  // Files with another name that stays: edited, with other metadata, with one more name.
  for (const group of ["changed", "moved-mode", "growing"])
    hand.hardLink(`deleted/${group}-0`, `links/${group}-1`);
  hand.folder("read-only/deep");
  for (const name of ["edit", "gone", "deep/edit"]) hand.file(`read-only/${name}`, `${name}\n`, 0o444);
  hand.mode("read-only/deep", 0o500);
  hand.mode("read-only", 0o555);
  hand.folder("sealed-gone");
  hand.file("sealed-gone/file", "sealed\n", 0o444);
  hand.mode("sealed-gone", 0o555);
}

/** Changes a tree that buildRichTree made. */
export function changeRichTree(root: string): void {
  const hand = new TreeHand(root, "after");
  hand.file("plain-edit", "edited\nand longer than it was\n");
  hand.keepTime("plain-same-size");
  hand.file("plain-same-size", "same-size as it WAS\n");
  hand.remove("plain-gone");
  hand.mode("plain-mode", 0o604);
  if (IS_ROOT) hand.owner("plain-owner", 12345, 54321);
  hand.xattr("plain-xattr", "user.old", "");
  hand.xattr("plain-xattr", "user.new", "new");
  hand.xattr("plain-acl", "system.posix_acl_access", acl(6));
  hand.time("plain-time", [1, 999_999_999]);
  hand.file("plain-new", "new\n", 0o751);
  hand.xattr("plain-new", "user.mine", "mine");
  changeKinds(hand);
  changeLinks(hand);
  changeFolders(hand);
  hand.file(BYTES_NAME, "odd name, changed\n");
  hand.remove(CONTROL_NAME);
  hand.file(`${CONTROL_NAME}-2`, "another\n");
  hand.mode(LONG_NAME, 0o600);
  hand.sparse("sparse", 1 << 20, [256 * 1024], "t");
  hand.sparse("sparse-new", 1 << 20, [960 * 1024], "n");
  hand.xattr(ROOT_PATH, "user.root", "after");
  hand.mode(ROOT_PATH, 0o755);
  hand.finish();
}

function changeKinds(hand: TreeHand): void {
  for (const from of ["file", "link", "folder"])
    for (const to of ["file", "link", "folder"]) {
      if (from === to) continue;
      hand.remove(`kinds/${from}-to-${to}`);
      if (to === "file") hand.file(`kinds/${from}-to-${to}`, "now a file\n");
      else if (to === "link") hand.link(`kinds/${from}-to-${to}`, "../plain-new");
      else {
        hand.folder(`kinds/${from}-to-${to}/new`);
        hand.file(`kinds/${from}-to-${to}/new/file`, "below\n");
        hand.folder(`kinds/${from}-to-${to}`);
      }
    }
  hand.remove("kinds/file-to-fifo");
  hand.node("kinds/file-to-fifo", "fifo");
  hand.remove("kinds/fifo-to-file");
  hand.file("kinds/fifo-to-file", "now a file\n");
  hand.remove("kinds/link-to-other-link");
  hand.link("kinds/link-to-other-link", "b\udcffytes");
  hand.remove("kinds/fifo-gone");
  hand.node("kinds/fifo-new", "fifo");
  hand.node("kinds/socket-new", "socket");
}

function changeLinks(hand: TreeHand): void {
  hand.file("links/changed-1", "changed through one of its names\n");
  hand.remove("links/split-2");
  hand.file("links/split-2", "on its own now\n");
  hand.remove("links/shrinking-2");
  hand.remove("links/both-gone-1");
  hand.remove("links/both-gone-2");
  hand.mode("links/moved-mode-1", 0o640);
  hand.hardLink("links/growing-3", "links/growing-1");
  hand.folder("links/new-folder");
  hand.hardLink("links/new-folder/growing-4", "links/growing-1");
  hand.file("links/new-1", "a new group\n");
  hand.hardLink("links/new-2", "links/new-1");
  hand.hardLink("links/new-folder/new-3", "links/new-1");
  hand.keepTime("links/growing-1");
}

function changeFolders(hand: TreeHand): void {
  hand.remove("empty-gone");
  hand.folder("empty-new", 0o711);
  hand.mode("folder-mode", 0o700);
  hand.xattr("folder-xattr", "user.folder", "set");
  hand.file("shared/new", "new in a shared folder\n");
  hand.mode("shared", 0o2770);
  // Made before the old one goes, so that it is surely not the same inode.
  hand.folder("replacement/deep");
  hand.file("replacement/deep/other", "new content\n");
  hand.folder("replacement", 0o755);
  hand.remove("replaced");
  hand.rename("replacement", "replaced");
  hand.remove("deleted");
  hand.mode("read-only", 0o755);
  hand.mode("read-only/deep", 0o755);
  hand.mode("read-only/edit", 0o644);
  hand.file("read-only/edit", "edited\n", 0o444);
  hand.remove("read-only/gone");
  hand.file("read-only/new", "new\n", 0o444);
  hand.mode("read-only/deep/edit", 0o644);
  hand.file("read-only/deep/edit", "edited too\n", 0o444);
  hand.mode("read-only/deep", 0o500);
  hand.mode("read-only", 0o555);
  hand.mode("sealed-gone", 0o755);
  hand.remove("sealed-gone");
  hand.folder("sealed-new");
  hand.file("sealed-new/file", "sealed\n", 0o444);
  hand.mode("sealed-new", 0o555);
}
