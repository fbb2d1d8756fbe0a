import { displayPath, parentPath, ROOT_PATH } from "../../../core/paths/byte-path.ts";
import type { SandboxParts } from "../sandbox-parts.ts";
import { splitNul } from "./repository-config.ts";
import type { BlobChange } from "./tree-changes.ts";

const MOST = 1000;
const SHOWN = 3;

export const NO_COMMIT = "no commit";

/** "2 commits: fix a; add b", the oldest first: those that no commit of `from` has in its history. */
export async function subjectsOf(parts: SandboxParts, from: readonly string[], to: string): Promise<string> {
  const known = from.map((commit) => `^${commit}`);
  const args = ["log", "-z", "--ignore-missing", "--format=%s", `--max-count=${MOST}`, to, ...known];
  const subjects = splitNul((await parts.git.look(parts.onCheckout(), args)).stdout).toReversed();
  const count = `${subjects.length}${subjects.length === MOST ? " or more" : ""}`;
  const shown = subjects.slice(-SHOWN).map(displayPath);
  const more = subjects.length > SHOWN ? "…; " : "";
  if (subjects.length === 0) return NO_COMMIT;
  return `${count} ${subjects.length === 1 ? "commit" : "commits"}: ${more}${shown.join("; ")}`;
}

/** The subject of one commit. */
export async function subjectOf(parts: SandboxParts, commit: string): Promise<string> {
  const args = ["log", "-z", "--format=%s", "--max-count=1", commit];
  const answer = await parts.git.look(parts.onCheckout(), args, { answers: [128] });
  return displayPath(splitNul(answer.stdout)[0] ?? "");
}

/** The whole messages of commits, the oldest first; nothing if they can't be read. */
export async function messagesOf(parts: SandboxParts, from: string, to: string): Promise<string> {
  const args = [
    "log",
    "-z",
    "--reverse",
    "--no-merges",
    "--format=%B",
    `--max-count=${MOST}`,
    to,
    `^${from}`,
  ];
  const messages = splitNul((await parts.git.look(parts.onCheckout(), args, { answers: [128] })).stdout);
  return messages.map((message) => message.trim()).join("\n\n");
}

/** What a commit of these changes does, for its message: "Change src/app.ts", "Add 3 files in src". */
export function describedChanges(changes: readonly BlobChange[]): string {
  const isOnly = (side: "before" | "after") => changes.every((change) => change[side] === undefined);
  const verb = isOnly("before") ? "Add" : isOnly("after") ? "Delete" : "Change";
  const [first, ...more] = changes.map(({ path }) => path);
  if (first === undefined || more.length === 0) return `${verb} ${displayPath(first ?? "nothing")}`;
  const folder = commonFolder([first, ...more]);
  return `${verb} ${changes.length} files${folder === ROOT_PATH ? "" : ` in ${displayPath(folder)}`}`;
}

function commonFolder(paths: readonly string[]): string {
  let folder = parentPath(paths[0] ?? ROOT_PATH);
  while (folder !== ROOT_PATH && !paths.every((path) => path.startsWith(`${folder}/`)))
    folder = parentPath(folder);
  return folder;
}
