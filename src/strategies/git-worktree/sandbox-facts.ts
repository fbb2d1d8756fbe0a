import { UsageError } from "../../core/errors/errors.ts";
import { ROOT_PATH } from "../../core/paths/byte-path.ts";
import { assertResourcePath, type Resource } from "../../core/resource/resource.ts";
import type { SandboxRef } from "../../core/sandbox.ts";
import type { Checkout } from "./checkout/checkout.ts";
import { DOT_GIT } from "./layout.ts";
import { STARTS, type Start } from "./sandbox-record.ts";

/** The checkout of a sandbox. */
export function checkoutOf({ metadata }: SandboxRef): Checkout {
  const { root, gitDir, commonDir, objectFormat } = metadata;
  return {
    root: String(root),
    gitDir: String(gitDir),
    commonDir: String(commonDir),
    objectFormat: String(objectFormat),
  };
}

/** The prefix of the refs that a sandbox has in the user's repository. */
export function refPrefixOf({ metadata }: SandboxRef): string {
  return String(metadata["refs"]);
}

/** The start that the properties of a resource ask for. */
export function requestedStart({ name, properties }: Resource): Start {
  const wanted = properties["from"] ?? "head";
  const start = STARTS.find((known) => known === wanted);
  if (start !== undefined) return start;
  throw new UsageError(`The sandbox of ${name} can't begin with '${String(wanted)}'.`, {
    hint: `'from' is ${STARTS.join(" or ")}.`,
  });
}

/** The start that a sandbox was made with. */
export function recordedStart({ metadata }: SandboxRef): Start {
  return metadata["start"] === "checkout" ? "checkout" : "head";
}

/** Checks the path of a file of the work. The repository in the worktree is no part of the work. */
export function workPath(path: string): string {
  const checked = assertResourcePath(path);
  if (checked === ROOT_PATH || checked.split("/")[0]?.toLowerCase() !== DOT_GIT) return checked;
  throw new UsageError(`${checked} is in the sandbox's own repository, which does not land.`, {
    hint: "Run git itself in the sandbox, by exec.",
    code: "BAD_PATH",
  });
}
