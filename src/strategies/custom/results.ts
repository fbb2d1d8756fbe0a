import { z } from "zod";
import { CAPABILITIES } from "../../core/capabilities.ts";
import { CHANGE_KINDS, CHANGE_OPERATIONS, CHANGE_SIDES } from "../../core/change.ts";
import { messageOf } from "../../core/errors/errors.ts";
import { ENTRY_KINDS } from "../../core/resource/entry.ts";
import { copyPlain } from "../../core/values/plain-data.ts";
import type { Answer, MethodName } from "./method-table.ts";
import { problemsIn } from "./strategy-options.ts";

/**
 * The schemas of what methods of a user's own strategy may return. Everything except bytes and database
 * values is plain data: a value that JSON would change (a Date, NaN) is refused, with its location.
 */

/** Both are in every record of a commit. */
const LONGEST_REF = 64 * 1024;
const LONGEST_PREPARED = 4 * 1024 * 1024;

const text = z.string().regex(/^[^\0]+$/, "Invalid input: expected text that is not empty and has no NUL");
const lines = z.array(text);
const count = z.int().nonnegative();
const yesOrNo = z.boolean();
const data = z.looseObject({});
const bytes = z.instanceof(Uint8Array, { error: "Invalid input: expected bytes" });

const change = z.looseObject({
  ...{ path: text, operation: z.enum(CHANGE_OPERATIONS), kind: z.enum(CHANGE_KINDS) },
  ...{ warnings: lines.optional(), insertions: count.optional(), deletions: count.optional() },
});
const entry = z.object({
  ...{ path: text, kind: z.enum(ENTRY_KINDS), size: count, mode: count, mtime: text },
  target: text.optional(),
});
const attention = z.array(z.object({ path: text, message: text, keptAt: text.optional() }));
const committed = z.object({ changes: count, attention: attention.default([]) });
const capabilities = z.object({
  ...{
    commit: capability("commit"),
    undo: capability("undo").optional(),
    partial: capability("partial").optional(),
  },
});
const shownValue = z.object({
  ...{ type: z.enum(["null", "integer", "real", "text", "bytes"]), text: z.string(), size: count.optional() },
});
const values = z.array(shownValue.nullable()).optional();
const changedRows = z.object({
  definitions: z.array(z.object({ type: text, before: shownValue.optional(), after: shownValue.optional() })),
  columns: z.array(z.object({ name: z.string(), isKey: yesOrNo, only: z.enum(CHANGE_SIDES).optional() })),
  rows: z.array(
    z.object({
      ...{ path: text, operation: z.enum(["added", "modified", "deleted"]), before: values, after: values },
      changed: z.array(count),
    }),
  ),
  ...{ total: count, same: count, digest: text },
});
const variables = z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), z.string().regex(/^[^\0]*$/));

const ref = z.object({
  ...{
    sandboxId: text,
    planId: text,
    resourceId: text,
    metadata: data,
    capabilities: capabilities.optional(),
  },
});

/** The schema for each method that returns something. */
const RESULTS: { readonly [M in MethodName as Answer<M> extends void ? never : M]: z.ZodType } = {
  create: plain(ref, LONGEST_REF),
  read: bytes,
  write: plain(change),
  // Drydock counts the changes itself.
  diff: plain(z.object({ changes: z.array(change) })),
  commit: plain(committed),
  checkpoint: plain(z.object({ mark: text.optional(), bytes: count.optional(), isSame: yesOrNo.optional() })),
  prepare: plain(z.object({ changes: count, data, warnings: lines.optional() }).nullable(), LONGEST_PREPARED),
  commitPrepared: plain(committed),
  rollbackPrepared: plain(attention),
  query: z.array(
    z.object({ columns: z.array(z.string()), rows: z.array(z.array(z.unknown())), changes: count }),
  ),
  changedRows: plain(changedRows),
  stat: plain(entry.optional()),
  list: plain(z.array(entry)),
  readPart: bytes,
  writeFrom: plain(change),
  update: plain(
    z.object({
      merged: z.array(z.string()),
      marked: z.array(z.string()),
      unmerged: z.array(z.object({ path: z.string(), why: z.string() })),
    }),
  ),
  resolve: plain(z.object({ path: z.string(), beside: z.string().optional() })),
  path: text.regex(/^(?:\/|[A-Za-z][A-Za-z0-9+.-]*:)/, "it is neither an absolute path nor a URL").optional(),
  enter: plain(
    z.discriminatedUnion("kind", [
      z.looseObject({ kind: z.literal("place"), path: text }),
      z.looseObject({ kind: z.literal("layers"), lower: text, upper: text, work: text, source: text }),
    ]),
  ).optional(),
  environment: plain(variables),
  saved: plain(z.array(change)).optional(),
  readSaved: bytes.optional(),
  landed: plain(z.array(change)).optional(),
  readLanded: bytes.optional(),
  readOriginal: bytes.optional(),
  notes: plain(lines),
  probe: plain(
    z.discriminatedUnion("works", [
      z.object({ works: z.literal(true), note: text.optional() }),
      z.object({
        works: z.literal(false),
        reason: z.string().default("it does not say why"),
        instead: text.optional(),
      }),
    ]),
  ),
  ways: plain(z.array(z.object({ name: text, works: yesOrNo, detail: text }))).optional(),
};

/** The answer of a method in a usable form, or the problem with it. */
export function checkedAnswer<M extends MethodName>(
  method: M,
  returned: unknown,
): { readonly answer: Answer<M> } | { readonly problem: string } {
  const schemas: { readonly [method: string]: z.ZodType | undefined } = RESULTS;
  const { error, data: answer } = (schemas[method] ?? z.any()).safeParse(returned);
  if (error === undefined) return { answer: answer as Answer<M> };
  return { problem: problemsIn(error.issues) };
}

function capability(name: keyof typeof CAPABILITIES): z.ZodType {
  const { fits, values } = CAPABILITIES[name];
  return z.custom(fits, `Invalid input: expected ${values}`);
}

/** Makes a copy that survives JSON exactly and has this shape. */
function plain(schema: z.ZodType<unknown, unknown>, longest = Number.POSITIVE_INFINITY): z.ZodType {
  const copied = z.unknown().transform((value, context): unknown => {
    try {
      return value === undefined ? undefined : copyPlain(value, longest);
    } catch (thrown) {
      context.addIssue({ code: "custom", message: messageOf(thrown) });
      return z.NEVER;
    }
  });
  return copied.pipe(schema);
}
