import {
  appendFileSync,
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

/**
 * Something that a rival has put where the plan works: it must be there afterwards, or be kept where the
 * result says.
 */
export interface Claim {
  readonly path: string;
  /** Found in a file at the path, or in one below it. */
  readonly marker: string;
}

const PLAN_MARK = "the plan's\n";

/**
 * Makes an original in which everything that a plan can do can be disputed, and a folder outside that nobody
 * may touch.
 */
export function buildContestedTree(base: string): void {
  const original = join(base, "original");
  mkdirSync(original);
  for (const name of ["in-place", "same-size", "replaced", "deleted", "mode", "retyped", "metadata"])
    writeFileSync(join(original, `${name}.txt`), "0123456789\n");
  for (const name of ["goes-in-place", "goes-replaced", "goes-mode"])
    writeFileSync(join(original, `${name}.txt`), "old\n");
  for (const folder of [
    "goes-added-to",
    "goes-changed-below",
    "new-folder-added-to",
    "new-folder-changed-below",
  ]) {
    mkdirSync(join(original, folder, "sub"), { recursive: true });
    writeFileSync(join(original, folder, "sub", "inner.txt"), "inner\n");
  }
  for (const folder of ["moved", "moved-out", "swapped", "anchors", "last"]) {
    mkdirSync(join(original, folder));
    for (const name of ["1.txt", "2.txt"]) writeFileSync(join(original, folder, name), `old ${name}\n`);
  }
  mkdirSync(join(base, "outside"));
  for (const name of ["1.txt", "2.txt", "added.txt"])
    writeFileSync(join(base, "outside", name), "not yours\n");
}

/** What the plan does, in its sandbox. */
export function workInSandbox(sandbox: string): void {
  for (const name of ["in-place", "same-size", "replaced", "deleted", "mode"])
    writeFileSync(join(sandbox, `${name}.txt`), PLAN_MARK);
  rmSync(join(sandbox, "retyped.txt"));
  symlinkSync("in-place.txt", join(sandbox, "retyped.txt"));
  chmodSync(join(sandbox, "metadata.txt"), 0o600);
  for (const name of [
    "goes-in-place.txt",
    "goes-replaced.txt",
    "goes-mode.txt",
    "goes-added-to",
    "goes-changed-below",
  ])
    rmSync(join(sandbox, name), { recursive: true });
  for (const folder of ["new-folder-added-to", "new-folder-changed-below"]) {
    // Made before the old one goes, so that it can't get the old one's inode and look like the same folder.
    mkdirSync(join(sandbox, `${folder}.new`));
    writeFileSync(join(sandbox, `${folder}.new`, "new.txt"), PLAN_MARK);
    rmSync(join(sandbox, folder), { recursive: true });
    renameSync(join(sandbox, `${folder}.new`), join(sandbox, folder));
  }
  writeFileSync(join(sandbox, "added.txt"), PLAN_MARK);
  mkdirSync(join(sandbox, "added-folder"));
  writeFileSync(join(sandbox, "added-folder", "mine.txt"), PLAN_MARK);
  for (const folder of ["moved", "moved-out", "swapped", "last"]) {
    for (const name of ["1.txt", "added.txt"]) writeFileSync(join(sandbox, folder, name), PLAN_MARK);
    rmSync(join(sandbox, folder, "2.txt"));
  }
  linkSync(join(sandbox, "anchors", "1.txt"), join(sandbox, "another-name.txt"));
}

/** What the rival does, all at once. Returns what must not be lost. */
export function actAsRival(base: string): Claim[] {
  const original = join(base, "original");
  const claims: Claim[] = [];
  const write = (
    path: string,
    text: string,
    how: typeof writeFileSync | typeof appendFileSync = writeFileSync,
  ) => {
    how(join(original, path), text);
    return text;
  };
  const claim = (path: string, marker: string) => claims.push({ path, marker: marker.trim() });
  claim("in-place.txt", write("in-place.txt", "rival in place\n", appendFileSync));
  claim("same-size.txt", write("same-size.txt", "RIVAL-SAME\n"));
  replace(join(original, "replaced.txt"), "rival replaced it\n");
  claim("replaced.txt", "rival replaced it");
  rmSync(join(original, "deleted.txt"), { force: true });
  chmodSync(join(original, "mode.txt"), 0o611);
  chmodSync(join(original, "metadata.txt"), 0o640);
  replace(join(original, "retyped.txt"), "rival retyped\n");
  claim("retyped.txt", "rival retyped");
  claim("goes-in-place.txt", write("goes-in-place.txt", "rival still needs it\n", appendFileSync));
  replace(join(original, "goes-replaced.txt"), "rival made another\n");
  claim("goes-replaced.txt", "rival made another");
  mkdirSync(join(original, "goes-added-to"), { recursive: true });
  claim("goes-added-to", write("goes-added-to/rival.txt", "rival added inside\n"));
  for (const folder of ["goes-changed-below", "new-folder-changed-below"]) {
    mkdirSync(join(original, folder, "sub"), { recursive: true });
    claim(folder, write(`${folder}/sub/inner.txt`, `rival below ${folder}\n`, appendFileSync));
  }
  claim("new-folder-added-to", write("new-folder-added-to/rival.txt", "rival added to the old one\n"));
  claim("added.txt", write("added.txt", "rival was here first\n"));
  mkdirSync(join(original, "added-folder"), { recursive: true });
  claim("added-folder", write("added-folder/rival.txt", "rival has a folder too\n"));
  renameSync(join(original, "moved"), join(original, "moved-by-rival"));
  renameSync(join(original, "moved-out"), join(base, "moved-out"));
  renameSync(join(original, "swapped"), join(base, "swapped-out"));
  symlinkSync(join(base, "outside"), join(original, "swapped"));
  renameSync(join(original, "anchors"), join(original, "anchors-by-rival"));
  return claims;
}

/** The text of every file in a folder, by name. */
export function textsIn(folder: string): { readonly [path: string]: string } {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).sort();
  return Object.fromEntries(
    names
      .filter((name) => lstatSync(join(folder, name)).isFile())
      .map((name) => [name, readFileSync(join(folder, name), "utf8")]),
  );
}

/** Whether the text is in the file at this path, or in one below it. */
export function holds(path: string, marker: string): boolean {
  const facts = lstatSync(path, { throwIfNoEntry: false });
  if (facts?.isFile() === true) return readFileSync(path, "utf8").includes(marker);
  return facts?.isDirectory() === true && readdirSync(path).some((name) => holds(join(path, name), marker));
}

function replace(path: string, text: string): void {
  writeFileSync(`${path}.tmp`, text);
  renameSync(`${path}.tmp`, path);
}
