import type { ChangeSide } from "../../core/change.ts";
import { SandboxConflictError, UsageError } from "../../core/errors/errors.ts";
import { displayPath } from "../../core/paths/byte-path.ts";
import type { PlanRecord } from "../../core/plan.ts";
import { type PlanSandboxes, resourceOf } from "../../sandboxes/plan-sandboxes.ts";
import { digestOfContent } from "../../system/data/content-digest.ts";
import { assertMay } from "../resources/restrictions.ts";

/** A change, by the names that it has. */
export interface ChangeAddress {
  /** Default: the only one of the plan. */
  readonly resource?: string | undefined;
  readonly path: string;
}

/** One side of a change. */
export interface ChangeSideAddress extends ChangeAddress {
  readonly side: ChangeSide;
  /** The digest of that content, as the change has it. Other content is refused. */
  readonly digest?: string | undefined;
}

/** The content of one side of a change of a file. */
export async function changeContent(
  plan: PlanRecord,
  sandboxes: PlanSandboxes,
  { resource, path, side, digest }: ChangeSideAddress,
): Promise<Uint8Array> {
  assertMay(resourceOf(plan, resource), "read");
  const { record, strategy, pathOf } = await sandboxes.usable(plan, resource, "look");
  const at = pathOf(path);
  const bytes =
    side === "after" ? await strategy.read(record.ref, at) : await strategy.readOriginal(record.ref, at);
  if (bytes === undefined)
    throw new UsageError(`What ${displayPath(path)} was before can't be had.`, {
      hint: "It was no file, or its content is gone.",
      code: "NO_SUCH_FILE",
    });
  if (digest === undefined || digestOfContent(bytes) === digest) return bytes;
  throw new SandboxConflictError([], {
    message: `${displayPath(path)} has another content now.`,
    code: "DIGEST_DIFFERS",
  });
}
