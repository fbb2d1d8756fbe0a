import {
  chmodSync,
  closeSync,
  copyFileSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import type { Work } from "./landed-steps.ts";

/** Does something in a folder. Returns the open files, of which number `at` is of this folder. */
export function doIn(root: string, next: Work, held: readonly number[], at: number): readonly number[] {
  if (next.does === "writes-on") {
    const fd = held[at];
    if (fd !== undefined) writeSync(fd, next.text);
    return held;
  }
  const target = join(root, next.path);
  if (next.does === "write") writeFileSync(target, next.text);
  else if (next.does === "append") writeFileSync(target, next.text, { flag: "a" });
  else if (next.does === "remove") rmSync(target, { recursive: true, force: true });
  else if (next.does === "folder") {
    mkdirSync(target);
    writeFileSync(join(target, "f"), "inside\n");
  } else if (next.does === "move") renameSync(target, join(root, next.to));
  else if (next.does === "link") linkSync(target, join(root, next.to));
  else if (next.does === "point") symlinkSync(next.path, join(root, next.to));
  else if (next.does === "mode") {
    chmodSync(target, lstatSync(target).isDirectory() ? next.mode | 0o700 : next.mode | 0o600);
  } else if (next.does === "holds") {
    const fd = openSync(target, "a");
    if (held[at] !== undefined) closeSync(held[at]);
    writeSync(fd, next.text);
    return at === 0 ? [fd, ...held.slice(1)] : [...held.slice(0, 1), fd];
  }
  return held;
}

/** Every entry with its kind, mode and content; those of other writers only if asked for. */
export function look(root: string, withRivals = false, inside = ""): string {
  return readdirSync(join(root, inside))
    .filter((name) => withRivals || name !== "rival")
    .toSorted()
    .map((name) => {
      const at = join(inside, name);
      const stat = lstatSync(join(root, at));
      const mode = (stat.mode & 0o7777).toString(8);
      if (stat.isDirectory()) return `${at}/ ${mode}\n${look(root, withRivals, at)}`;
      if (stat.isSymbolicLink()) return `${at} -> ${readlinkSync(join(root, at))}\n`;
      return `${at} ${mode} ${readFileSync(join(root, at), "utf8")}|\n`;
    })
    .join("");
}

/** Makes one folder the same as another, but for what other writers have in it. */
export function mirror(from: string, to: string): void {
  if (lstatSync(to, { throwIfNoEntry: false }) === undefined) mkdirSync(to);
  for (const name of new Set([...readdirSync(from), ...readdirSync(to)])) mirrorName(from, to, name);
}

export function mirrorName(from: string, to: string, name: string): void {
  if (name === "rival") return;
  const [source, target] = [join(from, name), join(to, name)];
  const is = lstatSync(source, { throwIfNoEntry: false });
  const was = lstatSync(target, { throwIfNoEntry: false });
  if (is?.isDirectory() !== true || was?.isDirectory() !== true)
    rmSync(target, { recursive: true, force: true });
  if (is === undefined) return;
  if (is.isSymbolicLink()) symlinkSync(readlinkSync(source), target);
  else if (!is.isDirectory()) copyFileSync(source, target);
  else {
    mirror(source, target);
    chmodSync(target, is.mode & 0o7777);
  }
}

/** Makes one folder the same as another, with the names of each file together. What is the same stays. */
export function bringBack(from: string, to: string): void {
  if (lstatSync(to, { throwIfNoEntry: false }) === undefined) mkdirSync(to);
  const [wanted, present] = [groupsOf(from), groupsOf(to)];
  for (const path of present.keys())
    if (!isKept(path)) rmSync(join(to, path), { recursive: true, force: true });
  for (const [path, group] of wanted) {
    const [source, target] = [join(from, path), join(to, path)];
    const is = lstatSync(source);
    const first = group.split("|").find((name) => lstatSync(join(to, name), { throwIfNoEntry: false }));
    if (lstatSync(target, { throwIfNoEntry: false }) === undefined) {
      if (is.isSymbolicLink()) symlinkSync(readlinkSync(source), target);
      else if (is.isDirectory()) mkdirSync(target);
      else if (first === undefined) copyFileSync(source, target);
      else linkSync(join(to, first), target);
    }
    if (!is.isSymbolicLink()) chmodSync(target, is.mode & 0o7777);
  }

  function isKept(path: string): boolean {
    if (wanted.get(path) !== present.get(path)) return false;
    const [is, was] = [lstatSync(join(from, path)), lstatSync(join(to, path), { throwIfNoEntry: false })];
    if (was === undefined || (is.mode & 0o170000) !== (was.mode & 0o170000)) return false;
    if (is.isSymbolicLink()) return readlinkSync(join(from, path)) === readlinkSync(join(to, path));
    return is.isDirectory() || readFileSync(join(from, path)).equals(readFileSync(join(to, path)));
  }
}

/** Every path below a folder, folders first, with all names of the file. */
function groupsOf(root: string): ReadonlyMap<string, string> {
  const paths = pathsIn(root);
  const names = Map.groupBy(paths, (path) => {
    const { ino, nlink } = lstatSync(join(root, path));
    return nlink > 1 ? String(ino) : path;
  });
  const groups = [...names.values()];
  return new Map(
    paths.map((path) => {
      const isFolder = lstatSync(join(root, path)).isDirectory();
      return [path, isFolder ? path : (groups.find((group) => group.includes(path)) ?? []).join("|")];
    }),
  );
}

function pathsIn(root: string, inside = ""): readonly string[] {
  return readdirSync(join(root, inside))
    .toSorted()
    .filter((name) => name !== "rival")
    .flatMap((name) => {
      const path = join(inside, name);
      return lstatSync(join(root, path)).isDirectory() ? [path, ...pathsIn(root, path)] : [path];
    });
}
