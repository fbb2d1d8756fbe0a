import { amount, fields, list, optional, path, text } from "../core/values/arguments.ts";
import type { DiffPageOptions } from "../plans/diff-page.ts";
import type { CallOptions } from "./call-options.ts";
import { callFields } from "./command-arguments.ts";

/** The arguments of calls that show changes. See public-arguments.ts. */

export const diffFields = {
  paths: optional(list(path)),
  checkpoint: optional(text),
  allow: optional(list(text)),
};

export const diffPageOptions = fields<DiffPageOptions & CallOptions>({
  ...diffFields,
  ...callFields,
  cursor: optional(text),
  limit: optional(amount),
});
