import { displayPath } from "../../core/paths/byte-path.ts";
import { splitNul } from "../git-worktree/repository/repository-config.ts";
import type { SandboxParts } from "../git-worktree/sandbox-parts.ts";

const MOST = 1000;
const SHOWN = 3;

/** "2 commits: fix a; add b", the oldest first. */
export async function subjectsOf(parts: SandboxParts, from: string, to: string): Promise<string> {
  const args = ["log", "-z", "--format=%s", `--max-count=${MOST}`, to, `^${from}`];
  const subjects = splitNul((await parts.git.look(parts.onCheckout(), args)).stdout).toReversed();
  const count = `${subjects.length}${subjects.length === MOST ? " or more" : ""}`;
  const shown = subjects.slice(-SHOWN).map(displayPath);
  const more = subjects.length > SHOWN ? "…; " : "";
  if (subjects.length === 0) return "no commit";
  return `${count} ${subjects.length === 1 ? "commit" : "commits"}: ${more}${shown.join("; ")}`;
}

/** The subject of one commit. */
export async function subjectOf(parts: SandboxParts, commit: string): Promise<string> {
  const args = ["log", "-z", "--format=%s", "--max-count=1", commit];
  const answer = await parts.git.look(parts.onCheckout(), args, { answers: [128] });
  return displayPath(splitNul(answer.stdout)[0] ?? "");
}
