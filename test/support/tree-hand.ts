import { createHash } from "node:crypto";
import {
  chmodSync,
  closeSync,
  ftruncateSync,
  lchownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { baseName, bytesFromPath, parentPath, ROOT_PATH } from "../../src/core/paths/byte-path.ts";
import type { Facts, Time } from "../../src/system/calls/facts.ts";
import { Folder } from "../../src/system/calls/folder.ts";
import { writeXattrs } from "../../src/system/calls/xattrs.ts";
import { failpoint } from "../../src/system/failpoints.ts";

const POINT = failpoint("test.fixture");

/**
 * Makes and changes a tree so that the outcome is the same in every attribute whenever and wherever it is
 * done: whatever it touches, and the folder around it, gets a time in `finish` that follows from its path and
 * the name of the phase. Paths are as in byte-path.ts.
 */
export class TreeHand {
  readonly #root: string;
  readonly #phase: string;
  readonly #touched = new Set<string>();
  readonly #fixedTimes = new Map<string, Time>();

  constructor(root: string, phase: string) {
    this.#root = root;
    this.#phase = phase;
  }

  full(path: string): Buffer {
    return bytesFromPath(path === ROOT_PATH ? this.#root : `${this.#root}/${path}`);
  }

  folder(path: string, mode = 0o755): void {
    mkdirSync(this.full(path), { recursive: true });
    chmodSync(this.full(path), mode);
    this.#touch(path);
  }

  /** Makes a file, or writes over the one that is there. */
  file(path: string, content: string | Uint8Array, mode?: number): void {
    writeFileSync(this.full(path), content);
    if (mode !== undefined) chmodSync(this.full(path), mode);
    this.#touch(path);
  }

  /** A file with data at these places and holes between them. */
  sparse(path: string, size: number, places: readonly number[], content: string): void {
    const fd = openSync(this.full(path), "w", 0o644);
    try {
      ftruncateSync(fd, size);
      for (const place of places) writeSync(fd, Buffer.alloc(64 * 1024, content), 0, 64 * 1024, place);
    } finally {
      closeSync(fd);
    }
    this.#touch(path);
  }

  link(path: string, target: string): void {
    symlinkSync(bytesFromPath(target), this.full(path));
    this.#touch(path);
  }

  hardLink(path: string, existing: string): void {
    linkSync(this.full(existing), this.full(path));
    this.#touch(path);
  }

  node(path: string, kind: "fifo" | "socket" | "device", rdev = "0:0"): void {
    this.#inParent(path, (parent, name) => {
      parent.createNode(POINT, name, { kind, mode: 0o640, rdev } as Facts);
      parent.setMode(POINT, name, 0o640);
    });
    this.#touch(path);
  }

  remove(path: string): void {
    rmSync(this.full(path), { recursive: true });
    for (const known of this.#touched)
      if (known === path || known.startsWith(`${path}/`)) this.#touched.delete(known);
    this.#touched.add(parentPath(path));
  }

  /** Gives it another name, in the same folder. */
  rename(path: string, to: string): void {
    renameSync(this.full(path), this.full(to));
    for (const known of [...this.#touched]) {
      if (known !== path && !known.startsWith(`${path}/`)) continue;
      this.#touched.delete(known);
      this.#touched.add(`${to}${known.slice(path.length)}`);
    }
  }

  mode(path: string, mode: number): void {
    chmodSync(this.full(path), mode);
  }

  owner(path: string, uid: number, gid: number): void {
    const { mode } = lstatSync(this.full(path));
    lchownSync(this.full(path), uid, gid);
    if ((mode & 0o170000) !== 0o120000) chmodSync(this.full(path), mode & 0o7777);
  }

  /** Sets one attribute; an empty value removes it. */
  xattr(path: string, name: string, value: Uint8Array | string): void {
    const present = { [name]: "" };
    const bytes = Buffer.from(value as string);
    this.#inParent(path, (parent, entry) =>
      writeXattrs(
        POINT,
        parent,
        entry,
        bytes.length === 0 ? {} : { [name]: bytes.toString("base64") },
        present,
      ),
    );
  }

  /** Gives it this time at the end, instead of one that follows from its path. */
  time(path: string, time: Time): void {
    this.#fixedTimes.set(path, time);
  }

  /** The time it has now stays, though it is touched. */
  keepTime(path: string): void {
    this.#inParent(path, (parent, name) => this.#fixedTimes.set(path, (parent.facts(name) as Facts).mtime));
  }

  /** Sets the times of all that was touched, the deepest first. */
  finish(): void {
    const paths = new Set([...this.#touched, ...this.#fixedTimes.keys()]);
    for (const path of [...paths].sort((a, b) => depth(b) - depth(a))) {
      const mtime = this.#fixedTimes.get(path) ?? timeOf(path, this.#phase);
      this.#inParent(path, (parent, name) => parent.setTimes(POINT, name, { mtime }));
    }
  }

  #touch(path: string): void {
    this.#touched.add(path);
    this.#touched.add(parentPath(path));
  }

  #inParent(path: string, action: (parent: Folder, name: string) => void): void {
    using parent = Folder.open(path === ROOT_PATH ? this.#root : `${this.#root}/${parentPath(path)}`);
    action(parent, path === ROOT_PATH ? ROOT_PATH : baseName(path));
  }
}

function depth(path: string): number {
  return path === ROOT_PATH ? 0 : path.split("/").length;
}

/** Somewhere between 2001 and 2014, with odd nanoseconds. */
function timeOf(path: string, phase: string): Time {
  const hash = createHash("sha256").update(`${phase} ${path}`).digest();
  return [1_000_000_000 + (hash.readUInt32LE(0) % 400_000_000), hash.readUInt32LE(4) % 1_000_000_000];
}
