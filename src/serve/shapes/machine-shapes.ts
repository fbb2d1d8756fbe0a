import { z } from "zod";
import { PLAN_STATES } from "../../core/plan.ts";

/** The documents about the state directory and the machine, as `--json` prints them. */

const recovered = z.strictObject({
  planId: z.string(),
  planName: z.string(),
  direction: z.enum(["commit", "undo", "restore", "update", "rollback"]),
  attention: z.array(
    z.strictObject({
      resource: z.string(),
      path: z.string(),
      message: z.string(),
      keptAt: z.string().optional(),
    }),
  ),
});

export const recoveryShape = z
  .strictObject({
    finished: z.array(recovered),
    undone: z.array(recovered),
    cleaned: z.array(z.strictObject({ planId: z.string(), what: z.string() })),
    pending: z.array(recovered.extend({ why: z.string(), inDoubt: z.boolean() })),
  })
  .meta({ id: "Recovery" });

const place = z.strictObject({ kind: z.string(), location: z.string() });

export const abandonShape = z
  .strictObject({
    planId: z.string(),
    planName: z.string(),
    state: z.enum(PLAN_STATES),
    resources: z.array(
      z.strictObject({
        resource: z.string(),
        location: z.string(),
        original: z.enum(["untouched", "landed", "unknown"]),
        message: z.string(),
        left: z.array(place),
      }),
    ),
  })
  .meta({ id: "Abandoned" });

const leftover = z.strictObject({
  kind: z.string(),
  planId: z.string(),
  location: z.string(),
  ageSeconds: z.number().nullable(),
  bytes: z.number().optional(),
  reason: z.string(),
  holdsWork: z.literal(true).optional(),
});

const idlePlan = z.strictObject({
  planId: z.string(),
  name: z.string(),
  lastUsed: z.string(),
  by: z.string(),
  bytes: z.number(),
});

export const scanShape = z
  .strictObject({ items: z.array(leftover), idlePlans: z.array(idlePlan) })
  .meta({ id: "Leftovers" });

export const purgeShape = z
  .strictObject({
    dryRun: z.boolean(),
    removed: z.array(leftover),
    kept: z.array(leftover.extend({ why: z.string() })),
    failed: z.array(leftover.extend({ message: z.string() })),
  })
  .meta({ id: "Purged" });

export const cleanupShape = z.looseObject({ stateDir: z.string() }).meta({ id: "CleanupStatus" });

export const strategiesShape = z
  .strictObject({
    strategies: z.array(
      z.looseObject({
        name: z.string(),
        builtIn: z.boolean(),
        version: z.string().optional(),
        commit: z.string(),
        undo: z.boolean(),
        checkpoint: z.boolean(),
        isolation: z.string(),
        strength: z.number(),
      }),
    ),
    unusable: z.array(
      z.strictObject({ name: z.string(), code: z.string(), message: z.string(), hint: z.string() }),
    ),
  })
  .meta({ id: "Strategies" });

const names = z.array(z.string());

const conformanceCase = z.strictObject({
  name: z.string(),
  group: z.string(),
  reason: z.string().optional(),
});

export const conformanceShape = z
  .strictObject({
    strategy: z.string(),
    passed: z.array(conformanceCase),
    failed: z.array(conformanceCase),
    excluded: z.array(conformanceCase),
  })
  .meta({ id: "ConformanceReport" });

export const trustShape = z
  .strictObject({
    file: z.string(),
    modules: z.array(z.strictObject({ file: z.string(), sha256: z.string() })),
    packages: names,
    hidesText: names,
  })
  .meta({ id: "TrustedConfig" });

export const resourceTypeShape = z
  .strictObject({
    name: z.string(),
    builtIn: z.boolean(),
    extends: z.string().nullable(),
    sandboxStrategy: z.string().nullable(),
    strategies: names.nullable(),
    parentTypes: names.nullable(),
    childTypes: names.nullable(),
    capabilities: names,
  })
  .meta({ id: "ResourceType" });

const works = z.strictObject({ name: z.string(), works: z.boolean(), detail: z.string() });

export const doctorShape = z
  .strictObject({
    node: z.string(),
    kernel: z.string(),
    platform: z.string(),
    stateDir: z.string(),
    checks: z.array(z.strictObject({ name: z.string(), ok: z.boolean(), detail: z.string() })),
    strategies: z.array(
      works.extend({ strength: z.number(), loses: names.optional(), ways: z.array(works).optional() }),
    ),
    resourceTypes: z.array(
      z.strictObject({ type: z.string(), strategy: z.string().nullable(), why: z.string() }),
    ),
  })
  .meta({ id: "Doctor" });

export const progressShape = z
  .strictObject({
    task: z.string().describe("What is done at present: 'copying', 'landing'."),
    done: z.number(),
    total: z.number().optional().describe("Absent while unknown."),
    operation: z.string().describe("The operation of the call."),
    planId: z.string().optional(),
    resource: z.string().optional().describe("Its name; absent for what is about the plan as a whole."),
  })
  .meta({ id: "Progress" });

export const problemShape = z
  .strictObject({
    type: z.string().describe("A name of the kind of problem, by its code."),
    title: z.string(),
    status: z.number(),
    detail: z.string().describe("What is wrong, in a sentence."),
    code: z.string().describe("For programs: docs/library.md and docs/api.md have all of them."),
    hint: z.string().describe("What to do about it."),
    details: z.looseObject({}).optional(),
  })
  .meta({ id: "Problem" });
