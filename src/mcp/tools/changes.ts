import { z } from "zod";
import type { PlanChange, SavedView } from "../../plans/plan-views.ts";
import { capped } from "../capped.ts";
import { changeShape, planArgument, statsShape } from "../shapes.ts";
import { tool } from "../tool.ts";

const USUAL_CHANGES = 100;
const MOST_CHANGES = 300;

export const planDiff = tool({
  name: "plan_diff",
  title: "Show what would change",
  description: `Shows what the plan would change in the originals, and the digest that a person approves. Lists ${USUAL_CHANGES} changes; after: next lists more. With patch: true also the changes themselves, as a unified diff. The whole patch of a path is the resource drydock://plans/PLAN/patch/PATH.`,
  input: z.object({
    plan: planArgument,
    paths: z.array(z.string()).optional().describe("Only changes at or below these paths."),
    checkpoint: z
      .string()
      .optional()
      .describe("Look into this checkpoint instead (its id or label); since says what changed after it."),
    after: z.int().min(0).optional().describe("Skip this many changes: the next of the call before."),
    limit: z.int().min(1).max(MOST_CHANGES).optional(),
    patch: z.boolean().optional().describe("Also the changes themselves, cut if they are long."),
  }),
  output: z.object({
    planId: z.string(),
    digest: z.string(),
    stats: statsShape,
    changes: z.array(changeShape),
    next: z.number().optional().describe("Give this as after to list more."),
    selfRunning: z
      .array(z.object({ resource: z.string(), path: z.string(), tool: z.string(), needsWord: z.boolean() }))
      .describe("Files that tools run by themselves; with needsWord they land only if a person allows them."),
    since: z
      .object({
        ...{ new: z.number(), changed: z.number(), gone: z.number() },
        changes: z.array(z.object({ resource: z.string(), path: z.string(), since: z.string() })),
      })
      .optional()
      .describe("With checkpoint: the changes that are others now, or only there now (new) or then (gone)."),
    unlisted: z
      .array(z.string())
      .optional()
      .describe("With checkpoint: resources whose strategy does not tell what it holds."),
    patch: z.string().optional(),
    patchTruncated: z.boolean().optional(),
  }),
  annotations: { readOnlyHint: true, openWorldHint: false },
  call: async ({ plan, paths = [], checkpoint, after = 0, limit = USUAL_CHANGES, patch }, context) => {
    const { plans } = context.services;
    const wanted = { ...(paths.length > 0 && { paths }), ...(checkpoint !== undefined && { checkpoint }) };
    const page = new Page(after, limit);
    const diff = await plans.diff(await context.planOf(plan), {
      ...wanted,
      onChange: (change) => page.add(change),
    });
    const { saved } = diff;
    const text = patch
      ? capped((await Array.fromAsync(plans.patch(diff.planId, { ...wanted, onlyText: true }))).join(""))
      : undefined;
    return {
      ...{ planId: diff.planId, digest: diff.digest, stats: diff.stats },
      ...{ changes: page.changes, next: page.next },
      selfRunning: diff.selfRunning,
      ...(saved !== undefined && { since: shownSince(saved.since), unlisted: saved.unlisted }),
      ...(text !== undefined && { patch: text.text, patchTruncated: text.truncated }),
    };
  },
});

/** The counts, and as many of the changes as a page has. */
function shownSince({ changes, ...counts }: SavedView["since"]) {
  const shown = changes.slice(0, USUAL_CHANGES);
  return { ...counts, changes: shown.map(({ resource, path, since }) => ({ resource, path, since })) };
}

/** A window on a long list, of which only the window is kept. */
class Page {
  readonly #from: number;
  readonly #most: number;
  readonly changes: PlanChange[] = [];
  #seen = 0;

  constructor(from: number, most: number) {
    this.#from = from;
    this.#most = most;
  }

  add(change: PlanChange): void {
    if (this.#seen >= this.#from && this.changes.length < this.#most) this.changes.push(change);
    this.#seen += 1;
  }

  get next(): number | undefined {
    const end = this.#from + this.changes.length;
    return end < this.#seen ? end : undefined;
  }
}

export const planCheckpoint = tool({
  name: "plan_checkpoint",
  title: "Save a checkpoint",
  description: "Saves the present state of the plan, so that plan_restore can go back to it.",
  input: z.object({ plan: planArgument, label: z.string().optional() }),
  output: z.object({
    planId: z.string(),
    id: z.string(),
    label: z.string().optional(),
    createdAt: z.string(),
  }),
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  call: async ({ plan, label }, context) =>
    await context.services.checkpoints.checkpoint(
      await context.planOf(plan),
      label === undefined ? {} : { label },
    ),
});

export const planRestore = tool({
  name: "plan_restore",
  title: "Go back to a checkpoint",
  description:
    "Brings the plan back to a checkpoint. What was done in the plan since then is gone, and so are later checkpoints.",
  input: z.object({
    plan: planArgument,
    checkpoint: z.string().describe("Its id, the beginning of its id, or its label."),
  }),
  output: z.object({ planId: z.string(), checkpoint: z.string(), dropped: z.array(z.string()) }),
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  call: async ({ plan, checkpoint }, context) => {
    const restored = await context.services.checkpoints.restore(await context.planOf(plan), checkpoint);
    return { planId: restored.planId, checkpoint: restored.checkpoint.id, dropped: restored.dropped };
  },
});
