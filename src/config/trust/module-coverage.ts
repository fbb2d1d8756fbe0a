import { dirname, resolve } from "node:path";
import { UsageError } from "../../core/errors/errors.ts";
import { displayPath } from "../../core/paths/byte-path.ts";
import { holdsInvisible } from "../../core/values/invisible-characters.ts";
import { digestOf } from "../../system/data/digest.ts";
import { isFile } from "../../system/data/existence.ts";
import { realPathOf } from "../../system/data/locations.ts";
import { type FileOwnership, readTextFile, type TextFile } from "../../system/data/text-files.ts";

/**
 * What is loaded with a module, as far as its text says so: the module, every file that it names by a
 * relative path in quotes (or by an absolute one that it imports), and what those name in turn. It does not
 * matter what a name is for: a file that is read counts like one that is imported. A name that Node would
 * complete (`./a` for `./a.js`, `./a/index.js`) stands for each of these that is there. Not seen are names
 * that are put together when the module runs, and packages.
 */
export interface Coverage {
  /** By path. */
  readonly files: readonly CoveredFile[];
  /** The packages that are imported, which are not covered. */
  readonly packages: readonly string[];
}

export interface CoveredFile extends FileOwnership {
  /** Its real path. */
  readonly file: string;
  /** SHA-256 of its content, in hex. */
  readonly sha256: string;
  /** Its text holds characters that nobody sees. */
  readonly hidesText: boolean;
}

const MOST_FILES = 500;
const MAX_BYTES = 64 * 1024 * 1024;
const CODE = /\.[cm]?[jt]sx?$/;
const COMPLETIONS = [
  ".js",
  ".mjs",
  ".cjs",
  ".ts",
  ".mts",
  ".cts",
  ".json",
  ".node",
  "/index.js",
  "/index.json",
  "/package.json",
];

/** Follows the names from these modules. */
export function coverageOf(modules: readonly string[]): Coverage {
  const files = new Map<string, CoveredFile>();
  const packages = new Set<string>();
  const waiting = [...modules];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const file = realFile(path);
    if (file === undefined || files.has(file.path)) continue;
    if (files.size === MOST_FILES) throw tooMany(modules);
    const { bytes, text, uid, gid, mode } = file.content;
    const isCode = CODE.test(file.path);
    const sha256 = digestOf(bytes);
    files.set(file.path, {
      file: file.path,
      sha256,
      uid,
      gid,
      mode,
      hidesText: isCode && holdsInvisible(text),
    });
    if (!isCode) continue;
    for (const name of namesIn(text)) waiting.push(...filesFor(dirname(file.path), name));
    for (const name of packagesIn(text)) packages.add(name);
  }
  return {
    files: [...files.values()].sort((a, b) => (a.file < b.file ? -1 : 1)),
    packages: [...packages].sort(),
  };
}

/** The files that Node might take this name for. Where it is a file itself, nothing is completed. */
function filesFor(folder: string, name: string): readonly string[] {
  return [...new Set([name, decoded(name)])].flatMap((text) => {
    const path = resolve(folder, text);
    return isFile(path) ? [path] : COMPLETIONS.map((more) => `${path}${more}`).filter(isFile);
  });
}

/**
 * An imported module is named as in a URL: what follows these is not part of the path, and characters may be
 * encoded.
 */
function decoded(name: string): string {
  const path = name.replace(/[?#].*$/s, "");
  try {
    return decodeURIComponent(path);
  } catch {
    // No URL would be written like that, so it is a name as it stands.
    return path;
  }
}

function* namesIn(text: string): Generator<string> {
  for (const [, , name = ""] of text.matchAll(/(["'`])(\.{1,2}\/[^"'`\n\\]*)\1/g)) yield name;
  for (const name of importsIn(text)) if (name.startsWith("/")) yield name;
}

function* packagesIn(text: string): Generator<string> {
  for (const name of importsIn(text)) {
    if (/^(?:[./#]|node:|file:|data:|https?:)/.test(name)) continue;
    yield name.split("/", name.startsWith("@") ? 2 : 1).join("/");
  }
}

function* importsIn(text: string): Generator<string> {
  const imports = /\b(?:from|import|require)\s*\(?\s*(["'`])([^"'`\n\\]+)\1/g;
  for (const [, , name = ""] of text.matchAll(imports)) yield name;
}

/** Undefined for what is not there, or is no file. */
function realFile(path: string): RealFile | undefined {
  const real = isFile(path) ? realPathOf(path) : undefined;
  const content = real === undefined ? undefined : readTextFile(real, MAX_BYTES);
  return real === undefined || content === undefined ? undefined : { path: real, content };
}

interface RealFile {
  readonly path: string;
  readonly content: TextFile;
}

function tooMany(modules: readonly string[]): UsageError {
  return new UsageError(
    `${modules.map(displayPath).join(", ")} can't be trusted: more than ${MOST_FILES} files are named from there.`,
    {
      hint: "Make it smaller, or a package; or name the config with --config.",
    },
  );
}
