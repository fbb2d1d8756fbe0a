import type { ChangeKind, ChangeOperation } from "../change.ts";
import { SelfRunningError } from "../errors/errors.ts";
import { ROOT_PATH } from "../paths/byte-path.ts";
import { PathPatterns } from "../paths/path-patterns.ts";
import type { Transaction } from "../strategy.ts";
import { withoutInvisible } from "../values/invisible-characters.ts";
import { ProtectedPaths } from "./protected-paths.ts";
import { SELF_RUNNING_RULES, type SelfRunningFile, type SelfRunningRule } from "./self-running-rules.ts";

/** The part of a change that says whether a tool would run what lands. */
export interface LandingPath {
  /** Relative to the resource. */
  readonly path: string;
  readonly operation: ChangeOperation;
  /** The kind of the entry afterwards. */
  readonly kind: ChangeKind | "block-device";
  /** Nothing but its time changes. */
  readonly onlyTime?: boolean;
}

/**
 * The changes to files that tools run by themselves, deletions included, for the resource at this location.
 */
export function selfRunningAmong<Item extends LandingPath>(
  location: string,
  changes: Iterable<Item>,
): readonly { readonly change: Item; readonly file: SelfRunningFile }[] {
  const found: { readonly change: Item; readonly file: SelfRunningFile }[] = [];
  const start = location === "/" ? "" : folded(location);
  for (const change of changes) {
    if (change.onlyTime === true || !canBeRun(change.kind)) continue;
    const { path } = change;
    const rule = ruleFor(path === ROOT_PATH ? start : `${start}/${folded(path)}`, change.kind === "symlink");
    if (rule !== undefined) found.push({ change, file: { path, tool: rule.tool, why: rule.why } });
  }
  return found;
}

/**
 * The changes that land only with the user's word and lack it. The deletion of a file that a tool runs needs
 * no word, because nothing runs a deleted file; that of a protected path does.
 */
export function withoutWord(
  location: string,
  changes: Iterable<LandingPath>,
  { allow = [], protect }: Words,
): readonly SelfRunningFile[] {
  const allowed = new PathPatterns(allow);
  const guarded = new ProtectedPaths(protect ?? { lines: [], allow: [] });
  const files: SelfRunningFile[] = [];
  for (const change of changes) {
    const [runs] = selfRunningAmong(location, [change]);
    const held = isEntry(change.kind) ? guarded.at(change.path) : undefined;
    if (runs !== undefined && change.operation !== "deleted" && !allowed.has(change.path))
      files.push(runs.file);
    else if (held?.needsWord === true) files.push(held.file);
  }
  return files;
}

/** What the user says about a landing, and what a policy keeps from it. */
type Words = Pick<Transaction, "allow" | "protect">;

/** Refuses changes that lack the user's word. */
export function assertHasWord(location: string, changes: Iterable<LandingPath>, words: Words): void {
  const files = withoutWord(location, changes, words);
  if (files.length > 0) throw new SelfRunningError(files);
}

/** Tools run no folder, but the files in it, which are changes of their own. */
function canBeRun(kind: LandingPath["kind"]): boolean {
  return kind !== "directory" && isEntry(kind);
}

/** Rows and objects are not entries of a tree. */
export function isEntry(kind: LandingPath["kind"]): boolean {
  return kind !== "row" && kind !== "table" && kind !== "object";
}

/**
 * A rule, compiled. A link also matches where a folder would hold matching files: it could lead to such a
 * folder.
 */
interface Matcher {
  readonly rule: SelfRunningRule;
  readonly file: RegExp;
  readonly link: RegExp;
  readonly except: RegExp | undefined;
}

interface Matchers {
  readonly each: readonly Matcher[];
  /**
   * The names with which patterns begin: a quick test, because nearly no path has one and there may be a
   * hundred thousand paths.
   */
  readonly names: ReadonlySet<string>;
  readonly wildNames: RegExp;
}

const PACKAGES = /(?:^|\/)node_modules\//;

let matchers: Matchers | undefined;

function ruleFor(path: string, isLink: boolean): SelfRunningRule | undefined {
  matchers ??= makeMatchers();
  if (!hasName(path, matchers)) return undefined;
  const isPackage = PACKAGES.test(path);
  return matchers.each.find(
    ({ rule, file, link, except }) =>
      (rule.inPackages === true || !isPackage) &&
      (isLink ? link : file).test(path) &&
      except?.test(path) !== true,
  )?.rule;
}

function hasName(path: string, { names, wildNames }: Matchers): boolean {
  return wildNames.test(path) || path.split("/").some((name) => names.has(name));
}

function makeMatchers(): Matchers {
  const each = SELF_RUNNING_RULES.map((rule) => ({
    rule,
    file: expressionFor(rule.patterns),
    link: expressionFor([...rule.patterns, ...rule.patterns.flatMap(foldersOf)]),
    except: rule.except === undefined ? undefined : expressionFor(rule.except),
  }));
  const first = SELF_RUNNING_RULES.flatMap(({ patterns }) =>
    patterns.map((pattern) => pattern.split("/", 1)[0] ?? ""),
  );
  const [wild, plain] = [
    first.filter((name) => name.includes("*")),
    first.filter((name) => !name.includes("*")),
  ];
  return {
    each,
    names: new Set(plain.flatMap((name) => choicesOf(name.toLowerCase()))),
    wildNames: new RegExp(
      `(?:^|/)(?:${[...new Set(wild)].map((name) => nameSource(name.toLowerCase())).join("|")})(?:/|$)`,
      "s",
    ),
  };
}

/** Every name that `{a,b}c` stands for. */
function choicesOf(name: string): readonly string[] {
  const braces = /\{([^}]*)\}/.exec(name);
  if (braces === null) return [name];
  const [found, choice = ""] = braces;
  return choice.split(",").flatMap((text) => choicesOf(name.replace(found, text)));
}

// `.git` and `.git/hooks` for `.git/hooks/x`; everything below `.git/modules` for `.git/modules/**/x`.
function foldersOf(pattern: string): readonly string[] {
  const names = pattern.split("/");
  return names.slice(0, -1).map((_, at) => names.slice(0, at + 1).join("/"));
}

function expressionFor(patterns: readonly string[]): RegExp {
  return new RegExp(`(?:^|/)(?:${patterns.map(sourceOf).join("|")})$`, "s");
}

function sourceOf(pattern: string): string {
  const names = pattern.toLowerCase().split("/");
  return names
    .map((name, at) => {
      const isLast = at === names.length - 1;
      if (name === "**") return isLast ? ".+" : "(?:[^/]+/)*";
      return isLast ? nameSource(name) : `${nameSource(name)}/`;
    })
    .join("");
}

function nameSource(name: string): string {
  return name
    .replace(/[.+]/g, "\\$&")
    .replaceAll("*", "[^/]*")
    .replace(/\{([^}]*)\}/g, (_, choice: string) => `(?:${choice.replaceAll(",", "|")})`);
}

const ORDINARY = /^[\u0020-\u007d]*$/;
const FOREIGN_ENDS = /[. ]+(?=\/|$)|:[^/]*/g;

/**
 * The path as the most tolerant file system reads it: without regard to case, without invisible characters,
 * without dots and spaces at the end of a name, without the name of a stream, and with the short name that
 * `.git` has there. Other file systems distinguish these; then Drydock asks for a word too many.
 */
function folded(path: string): string {
  const text = ORDINARY.test(path) ? path : withoutInvisible(path).normalize("NFC").toUpperCase();
  const lower = text.toLowerCase();
  const shortened = /[. ](?:\/|$)|:/.test(lower) ? lower.replace(FOREIGN_ENDS, "") : lower;
  return shortened.includes("~") ? shortened.replace(/(^|\/)git~\d+(?=\/|$)/g, "$1.git") : shortened;
}
