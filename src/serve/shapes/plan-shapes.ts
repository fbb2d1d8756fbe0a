import { z } from "zod";
import { CHANGE_KINDS, CHANGE_OPERATIONS } from "../../core/change.ts";
import { PLAN_STATES } from "../../core/plan.ts";
import { ENTRY_KINDS } from "../../core/resource/entry.ts";
import { SANDBOX_STATES } from "../../core/sandbox-states.ts";
import { REVIEW_STATES } from "../../plans/review/approval-views.ts";

/** The documents of plans, as `--json` prints them. */

const state = z.enum(PLAN_STATES);
const remaining = z.strictObject({
  resource: z.string(),
  message: z.string(),
  places: z.array(z.string()),
});

const planResource = z.strictObject({
  name: z.string(),
  type: z.string(),
  location: z.string(),
  parent: z.string().optional(),
  sharesSandboxOf: z.string().optional(),
  strategy: z.string(),
  why: z.string(),
  status: z.enum(SANDBOX_STATES),
  error: z.string().optional(),
  restarted: z.literal(true).optional(),
  notes: z.array(z.string()).optional(),
  linksOut: z.array(z.strictObject({ path: z.string(), target: z.string() })).optional(),
  path: z.string().nullable(),
});

/** How a command ended. */
const endFields = {
  exitCode: z.number(),
  signal: z.string().optional(),
  durationMs: z.number(),
  aborted: z.literal(true).optional(),
  limit: z.string().optional(),
  denied: z
    .array(z.strictObject({ destination: z.string(), address: z.string().optional(), times: z.number() }))
    .optional(),
};

export const detachedShape = z
  .strictObject({
    exec: z.string(),
    command: z.string(),
    state: z.enum(["running", "ended", "killed"]),
    since: z.string(),
    pid: z.number().optional().describe("While it runs: the process that keeps it."),
    endedAt: z.string().optional(),
    ...endFields,
    exitCode: endFields.exitCode.optional(),
    durationMs: endFields.durationMs.optional(),
    run: z
      .strictObject({ exitCode: z.number(), said: z.string() })
      .optional()
      .describe("How the `run` ended that started it, if otherwise than the command."),
  })
  .meta({ id: "DetachedCommand" });

const awaitedHostShape = z.object({
  host: z.string(),
  resources: z.array(z.string()).describe("The names of the resources there."),
  to: z.enum(["prepare", "land", "take back"]).describe("What it has to do."),
  since: z.string().optional().describe("Since when the plan is in this step."),
  isUp: z.boolean(),
  hostSince: z.string().optional().describe("Since when it is up, or since when nothing was heard of it."),
});

/** A resource that an undo leaves as it landed. */
const lastingShape = z.strictObject({
  resource: z.string(),
  strategy: z.string(),
  changes: z.number().optional(),
});

export const planShape = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    state,
    readOnly: z.boolean(),
    createdAt: z.string(),
    message: z.string().optional(),
    labels: z.record(z.string(), z.string()).optional(),
    review: z.enum(REVIEW_STATES).optional(),
    detached: detachedShape.optional(),
    undo: z
      .union([
        z.strictObject({ until: z.string(), leaving: z.array(z.string()).optional() }),
        z.strictObject({ not: z.string() }),
      ])
      .optional(),
    stays: z.array(lastingShape).optional(),
    host: z.string().optional().describe("For a plan that was made on another host of the fleet: that host."),
    waits: z
      .array(awaitedHostShape)
      .optional()
      .describe("For a plan over hosts that is being applied or undone: the hosts for which it waits."),
    resources: z.array(planResource),
    left: z.array(remaining).optional(),
    warnings: z.array(z.string()).optional(),
  })
  .meta({ id: "Plan" });

export const placeShape = z.strictObject({
  kind: z.string(),
  location: z.string(),
  resource: z.string().optional(),
  bytes: z.number().optional(),
});

const facts = z.strictObject({
  size: z.number().optional(),
  mode: z.number().optional(),
  uid: z.number().optional(),
  gid: z.number().optional(),
  mtime: z.string().optional(),
  target: z.string().optional(),
  object: z.string().optional(),
  digest: z.string().optional(),
  xattrs: z.string().optional(),
});

export const changeShape = z.strictObject({
  path: z.string(),
  operation: z.enum(CHANGE_OPERATIONS),
  kind: z.enum(CHANGE_KINDS),
  from: z.string().optional(),
  before: facts.optional(),
  after: facts.optional(),
  binary: z.boolean().optional(),
  statement: z.string().optional(),
  note: z.string().optional(),
  rows: z.number().optional(),
  warnings: z.array(z.string()).optional(),
  insertions: z.number().optional(),
  deletions: z.number().optional(),
});

export const statsShape = z.strictObject({
  added: z.number(),
  modified: z.number(),
  deleted: z.number(),
  renamed: z.number().optional(),
  insertions: z.number(),
  deletions: z.number(),
});

export const checkpointShape = z
  .strictObject({
    id: z.string(),
    label: z.string().optional(),
    createdAt: z.string(),
    automatic: z.boolean(),
    before: z.string().optional(),
    bytes: z.number(),
  })
  .meta({ id: "Checkpoint" });

/** A checkpoint that a diff looks into. */
const savedShape = z.strictObject({
  checkpoint: checkpointShape,
  unlisted: z.array(z.string()).describe("Resources whose strategy does not tell what a checkpoint holds."),
  since: z.strictObject({
    ...{ new: z.number(), changed: z.number(), gone: z.number() },
    changes: z
      .array(
        z.strictObject({
          ...{ resource: z.string(), path: z.string(), kind: z.enum(CHANGE_KINDS) },
          since: z.enum(["new", "changed", "gone"]),
        }),
      )
      .describe("The first thousand of them."),
  }),
});

export const diffShape = z
  .strictObject({
    planId: z.string(),
    digest: z.string(),
    stats: statsShape,
    changes: z.array(changeShape.extend({ resource: z.string() }).meta({ id: "Change" })),
    renames: z
      .array(
        z.strictObject({
          resource: z.string(),
          from: z.string(),
          to: z.string(),
          kind: z.enum(CHANGE_KINDS),
          entries: z.number().optional(),
        }),
      )
      .describe("The additions among all changes that are renames, with the deletion at the old path."),
    selfRunning: z.array(
      z.strictObject({
        resource: z.string(),
        path: z.string(),
        operation: z.enum(CHANGE_OPERATIONS),
        tool: z.string(),
        why: z.string(),
        needsWord: z.boolean(),
      }),
    ),
    landed: z
      .strictObject({
        at: z.string(),
        unlisted: z.array(z.strictObject({ resource: z.string(), changes: z.number() })),
      })
      .optional()
      .describe("For an applied plan: these changes have landed."),
    saved: savedShape
      .optional()
      .describe("With checkpoint: these changes are those of a saved state, and this changed since."),
    next: z.string().optional().describe("The cursor of the next page; absent on the last one."),
  })
  .meta({ id: "Diff" });

export const summaryShape = diffShape
  .omit({ changes: true, renames: true, next: true })
  .extend({
    folders: z.array(
      statsShape.omit({ renamed: true }).extend({
        resource: z.string(),
        path: z.string(),
        kinds: z.record(z.string(), z.number()),
        warnings: z.number().optional(),
        unlisted: z.number().optional(),
      }),
    ),
  })
  .meta({ id: "Summary" });

export const applyShape = z
  .strictObject({
    planId: z.string(),
    state,
    message: z.string().optional(),
    participants: z.array(
      z.strictObject({
        resource: z.string(),
        strategy: z.string(),
        outcome: z.enum(["committed", "unchanged"]),
        changes: z.number(),
      }),
    ),
    stays: z.array(lastingShape).optional(),
    attention: z.array(
      z.strictObject({
        resource: z.string(),
        path: z.string(),
        message: z.string(),
        keptAt: z.string().optional(),
      }),
    ),
    warnings: z.array(z.string()),
  })
  .meta({ id: "Landing" });

export const approvalShape = z
  .strictObject({
    planId: z.string(),
    digest: z.string(),
    allow: z.array(z.string()),
    via: z.string(),
    actor: z.string(),
    at: z.string(),
  })
  .meta({ id: "Approval" });

export const entryShape = z
  .strictObject({
    path: z.string(),
    kind: z.enum(ENTRY_KINDS),
    size: z.number(),
    mode: z.number(),
    mtime: z.string(),
    target: z.string().optional(),
  })
  .meta({ id: "Entry" });

const logEntry = z.strictObject({
  at: z.string(),
  actor: z.string(),
  pid: z.number().optional(),
  event: z.string(),
  details: z.looseObject({}),
});

export const logShape = z
  .strictObject({ planId: z.string(), name: z.string(), state, entries: z.array(logEntry) })
  .meta({ id: "Log" });

export const eventShape = logEntry.extend({ cursor: z.string(), planId: z.string() }).meta({ id: "Event" });

const outsidePlace = z.strictObject({
  path: z.string(),
  files: z.number(),
  removed: z.number(),
  bytes: z.number(),
  cache: z.literal(true).optional(),
});

export const scratchShape = z
  .strictObject({
    planId: z.string(),
    lost: z.string().optional(),
    places: z.array(outsidePlace),
    files: z.array(
      z.strictObject({
        path: z.string(),
        kind: z.string(),
        bytes: z.number(),
        cache: z.literal(true).optional(),
      }),
    ),
  })
  .meta({ id: "Scratch" });

const execFields = {
  planId: z.string(),
  ...endFields,
  scratch: z.strictObject({ files: z.number(), places: z.array(outsidePlace) }),
};

export const execShape = z.strictObject(execFields).meta({ id: "Exec" });

const outputFields = {
  stdout: z.string(),
  stderr: z.string(),
  truncated: z.strictObject({ stdout: z.boolean(), stderr: z.boolean() }),
};

export const capturedShape = z.strictObject({ ...execFields, ...outputFields }).meta({ id: "CapturedExec" });

const { planId, exitCode, limit, denied, scratch } = execFields;

export const runShape = z
  .strictObject({
    ...{ planId, exitCode, limit, denied, scratch, ...outputFields },
    outcome: z.enum(["applied", "kept", "discarded", "unchanged"]),
    diff: diffShape.optional(),
    apply: applyShape.optional(),
    stays: z.array(z.string()).optional(),
    landed: z.literal(true).optional(),
  })
  .meta({ id: "Run" });
