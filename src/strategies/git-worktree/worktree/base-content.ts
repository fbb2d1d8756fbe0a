import { bytesFromPath } from "../../../core/paths/byte-path.ts";
import type { SandboxParts } from "../sandbox-parts.ts";

/** The content of a file in the base, as git would check it out; undefined if there is none. */
export async function baseContent(
  parts: SandboxParts,
  base: string,
  path: string,
): Promise<Buffer | undefined> {
  const { git } = parts;
  const context = parts.onWorktree();
  const input = Buffer.concat([bytesFromPath(`${base}:${path}`), Buffer.alloc(1)]);
  const { stdout } = await git.look(context, ["cat-file", "--batch-check", "-z"], { input });
  const [id = "", type] = stdout.toString("latin1").trim().split(" ").slice(-3);
  if (type !== "blob") return undefined;
  const { stdout: content } = await git.look(context, ["cat-file", "--filters", `--path=${path}`, id]);
  return content;
}
