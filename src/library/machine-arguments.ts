import { amount, callback, fields, optional, path, text, truth } from "../core/values/arguments.ts";
import type { CheckedMethods } from "../core/values/checked-calls.ts";
import type { CleanupOptions } from "../plans/plan-views.ts";
import type { CheckRequest } from "../testing/check.ts";
import type { Cleanup, Hosts, ResourceTypeList, Strategies } from "./drydock.ts";

/** The arguments of functions that are about no plan: see public-arguments.ts. */

export const cleanupMethods: CheckedMethods<Cleanup> = {
  scan: [
    ["options", optional(fields<Pick<CleanupOptions, "olderThanMs">>({ olderThanMs: optional(amount) }))],
  ],
  purge: [
    [
      "options",
      optional(
        fields<CleanupOptions>({
          olderThanMs: optional(amount),
          dryRun: optional(truth),
          force: optional(truth),
          undoOlderThanMs: optional(amount),
        }),
      ),
    ],
  ],
  idlePlans: [
    ["options", optional(fields<Pick<CleanupOptions, "olderThanMs">>({ olderThanMs: optional(amount) }))],
  ],
  status: [],
};

export const strategiesMethods: CheckedMethods<Strategies> = {
  list: [],
  has: [["name", text]],
  // Registration checks the strategy that it makes.
  register: [["make", callback<Parameters<Strategies["register"]>[0]>()]],
  remove: [["name", text]],
  check: [
    ["strategy", text],
    ["request", optional(fields<CheckRequest>({ resource: optional(path) }))],
  ],
};

export const typesMethods: CheckedMethods<ResourceTypeList> = {
  list: [],
  has: [["name", text]],
  get: [["name", text]],
  mayContain: [
    ["parent", text],
    ["child", text],
  ],
};

export const hostsMethods: CheckedMethods<Hosts> = {
  list: [],
  show: [["name", optional(text)]],
  drain: [["name", text]],
  undrain: [["name", text]],
  remove: [["name", text]],
};
