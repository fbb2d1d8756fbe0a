import { dirname, resolve } from "node:path";
import { UsageError } from "../../core/errors/errors.ts";
import { displayPath } from "../../core/paths/byte-path.ts";
import { holdsInvisible } from "../../core/values/invisible-characters.ts";
import { digestOf } from "../../system/data/digest.ts";
import { isFile } from "../../system/data/existence.ts";
import { realPathOf } from "../../system/data/locations.ts";
import { type FileOwnership, readTextFile, type TextFile } from "../../system/data/text-files.ts";

/**
 * The files that are loaded with a module, as far as its text tells: the module, every file that it names by
 * a relative path in quotes (or by an absolute path that it imports), and the files that those name in turn.
 * The purpose of a name does not matter: a file that is read counts like an imported one. A name that Node
 * would complete (`./a` for `./a.js`, `./a/index.js`) stands for every completion that exists. Names that are
 * put together at run time are not seen; packages are not covered.
 */
export interface Coverage {
  /** By path. */
  readonly files: readonly CoveredFile[];
  /** The imported packages, which are not covered. */
  readonly packages: readonly string[];
}

export interface CoveredFile extends FileOwnership {
  /** Its real path. */
  readonly file: string;
  /** SHA-256 of its content, in hex. */
  readonly sha256: string;
  /** Its text holds invisible characters. */
  readonly hidesText: boolean;
}

const MOST_FILES = 500;
const MAX_BYTES = 64 * 1024 * 1024;
const CODE = /\.[cm]?[jt]sx?$/;
const PYTHON = /\.py$/;
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
    const isCode = CODE.test(file.path) || PYTHON.test(file.path);
    const sha256 = digestOf(bytes);
    files.set(file.path, {
      file: file.path,
      sha256,
      uid,
      gid,
      mode,
      hidesText: isCode && holdsInvisible(text),
    });
    if (PYTHON.test(file.path)) waiting.push(...pythonModulesIn(text, dirname(file.path)));
    if (!CODE.test(file.path)) continue;
    for (const name of namesIn(text)) waiting.push(...filesFor(dirname(file.path), name));
    for (const name of packagesIn(text)) packages.add(name);
  }
  return {
    files: [...files.values()].sort((a, b) => (a.file < b.file ? -1 : 1)),
    packages: [...packages].sort(),
  };
}

/** The files that Node might load for this name. The name of an existing file is not completed. */
function filesFor(folder: string, name: string): readonly string[] {
  return [...new Set([name, decoded(name)])].flatMap((text) => {
    const path = resolve(folder, text);
    return isFile(path) ? [path] : COMPLETIONS.map((more) => `${path}${more}`).filter(isFile);
  });
}

/** The files beside a Python program that it imports. Modules elsewhere are packages: not covered. */
function pythonModulesIn(text: string, folder: string): readonly string[] {
  const imports = text.matchAll(/^[ \t]*(?:from|import)[ \t]+\.?([A-Za-z_][\w.]*)/gm);
  return [...imports].flatMap(([, name = ""]) => {
    const path = resolve(folder, name.replaceAll(".", "/"));
    return [`${path}.py`, `${path}/__init__.py`].filter(isFile);
  });
}

/** An imported module is named as in a URL: `?` and `#` end the path, and characters may be encoded. */
function decoded(name: string): string {
  const path = name.replace(/[?#].*$/s, "");
  try {
    return decodeURIComponent(path);
  } catch {
    // Not validly encoded, so the name stands for itself.
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

/** Undefined if the path does not exist or is not a file. */
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
      hint: "Make it smaller, or a package; or name the config explicitly.",
    },
  );
}
