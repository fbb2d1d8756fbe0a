import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";

/** At no moment is the file missing or half written, and when this returns it is on disk. */
export function replaceFile(path: string, content: string | Uint8Array): void {
  const file = openSync(`${path}.new`, "w", 0o600);
  try {
    writeFileSync(file, content);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(`${path}.new`, path);
  flushFolder(dirname(path));
}

export function readJson<T>(path: string): T {
  return JSON.parse(readFileSync(path, "utf8")) as T;
}

export function makeFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  flushFolder(dirname(path));
}

/** Gives a file, whose content is never changed, one more name. */
export function pin(file: string, as: string): void {
  rmSync(as, { force: true });
  linkSync(file, as);
  flushFolder(dirname(as));
}

/** Makes a folder that has the files of another one. */
export function copyFolder(from: string, to: string): void {
  rmSync(to, { recursive: true, force: true });
  makeFolder(to);
  for (const name of namesIn(from)) linkSync(join(from, name), join(to, name));
  flushFolder(to);
}

/** The names in a folder, but for what was cut off while it was written; none if there is no such folder. */
export function namesIn(folder: string): string[] {
  return existsSync(folder)
    ? readdirSync(folder)
        .filter((name) => !name.endsWith(".new"))
        .sort()
    : [];
}

export function remove(path: string): void {
  rmSync(path, { recursive: true, force: true });
}

function flushFolder(path: string): void {
  const folder = openSync(path, "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
