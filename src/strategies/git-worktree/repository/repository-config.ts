import { pathFromBytes } from "../../../core/paths/byte-path.ts";
import type { Git } from "../../../system/process/git.ts";

/** One setting of git. Without a value it is true. */
export interface ConfigEntry {
  /** `section.key` or `section.subsection.key`; section and key are in lower case. */
  readonly key: string;
  readonly value?: string;
}

/**
 * The user's settings that a sandbox takes over: the identity, and those that decide which bytes of a file
 * are stored. Settings that lead to other repositories, or run programs other than filters and merge drivers,
 * stay out.
 */
const TAKEN_OVER = [
  /^(?:user|author|committer)\.(?:name|email)$/,
  /^core\.(?:autocrlf|eol|safecrlf|filemode|symlinks|ignorecase|precomposeunicode|protecthfs|protectntfs)$/,
  /^core\.(?:excludesfile|attributesfile|bigfilethreshold|checkroundtripencoding|whitespace)$/,
  /^filter\./,
  /^merge\.(?:.+\.(?:name|driver|recursive)|renames|renamelimit|directoryrenames|renormalize)$/,
  /^lfs\./,
];

export interface Identity {
  readonly name: string;
  readonly email: string;
}

/** The committer when the user has configured no identity. */
const OURS: Identity = { name: "Drydock", email: "drydock@localhost" };

/** All settings that apply to a checkout, from every config file. */
export async function readConfig(
  git: Git,
  { gitDir, root }: { readonly gitDir: string; readonly root: string },
): Promise<readonly ConfigEntry[]> {
  const { stdout } = await git.look({ gitDir, workTree: root }, ["config", "-z", "--list"]);
  return splitNul(stdout).map((entry) => {
    const end = entry.indexOf("\n");
    return end < 0 ? { key: entry } : { key: entry.slice(0, end), value: entry.slice(end + 1) };
  });
}

/** The settings that a sandbox takes over. */
export function takenOver(entries: readonly ConfigEntry[]): readonly ConfigEntry[] {
  return entries.filter(({ key }) => TAKEN_OVER.some((pattern) => pattern.test(key)));
}

export function identityFrom(entries: readonly ConfigEntry[]): Identity {
  const last = (key: string) => entries.findLast((entry) => entry.key === key)?.value?.trim() || undefined;
  const name = last("committer.name") ?? last("user.name");
  const email = last("committer.email") ?? last("user.email");
  return name === undefined || email === undefined ? OURS : { name, email };
}

/** Whether git logs moves of branches. Git's default for a repository with a checkout is yes. */
export function logsRefs(entries: readonly ConfigEntry[]): boolean {
  const value = entries.findLast(({ key }) => key === "core.logallrefupdates");
  return value === undefined || !/^(?:false|no|off|0|)$/i.test(value.value ?? "true");
}

/** The text of a config file. */
export function configText(entries: readonly ConfigEntry[]): string {
  return entries
    .map(
      ({ key, value }) =>
        `${header(key)}\t${keyOf(key)}${value === undefined ? "" : ` = ${quoted(value)}`}\n`,
    )
    .join("");
}

function header(key: string): string {
  const [first, last] = [key.indexOf("."), key.lastIndexOf(".")];
  if (first === last) return `[${key.slice(0, first)}]\n`;
  return `[${key.slice(0, first)} "${key.slice(first + 1, last).replace(/["\\]/g, "\\$&")}"]\n`;
}

function keyOf(key: string): string {
  return key.slice(key.lastIndexOf(".") + 1);
}

function quoted(value: string): string {
  const escaped = value.replace(/["\\]/g, "\\$&").replaceAll("\n", "\\n").replaceAll("\t", "\\t");
  return `"${escaped}"`;
}

/** The texts between NUL bytes; git prints paths like this. */
export function splitNul(bytes: Buffer): string[] {
  const parts: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf(0, at);
    const to = end < 0 ? bytes.length : end;
    parts.push(pathFromBytes(bytes.subarray(at, to)));
    at = to + 1;
  }
  return parts;
}
