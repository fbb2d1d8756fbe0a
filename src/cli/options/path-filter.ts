import { UsageError } from "../../core/errors/errors.ts";
import { displayPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import { unescapePath } from "./escaped-path.ts";

/** A path that narrows a diff, as a shell completes it: "./src/" is "src". */
export function parsePathFilter(given: string): string {
  if (given === "") {
    throw new UsageError("A path is empty.", {
      hint: "Leave it out to see everything, or give one like src/app.ts.",
    });
  }
  if (/^\/+[^/]/.test(given)) {
    throw new UsageError(`The path '${displayPath(given)}' is absolute.`, {
      hint: "Give a path relative to the resource, like src/app.ts.",
    });
  }
  return (
    unescapePath(given)
      .replace(/^(?:\.\/+)+/, "")
      .replace(/\/+$/, "") || ROOT_PATH
  );
}
