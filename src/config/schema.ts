import * as z from "zod";
import { BUILT_IN_RESOURCE_TYPES } from "../core/resource/resource.ts";
import { RESOURCE_CAPABILITIES } from "../core/resource/resource-types.ts";
import { BUILT_IN_STRATEGY_NAMES } from "../core/strategy-names.ts";
import { DEFAULT_CHECK_MS } from "../core/values/checks.ts";
import { DURATION_PATTERN, formatDuration } from "./duration.ts";
import { fleetSection } from "./fleet-section.ts";
import { INLINE_STRATEGY_PATTERN } from "./inline-strategies.ts";
import { limitsSection, positiveDuration } from "./limits-section.ts";
import { policySection } from "./policy/policy-section.ts";
import { flag, freeNames, named, oneOf, section } from "./schema-parts.ts";
import {
  AUTOMATIC_STRATEGY,
  CHECKPOINT_OCCASIONS,
  CLEANUP_POLICIES,
  DEFAULT_CALL_LIMIT_MS,
  DEFAULT_SETTINGS,
  RESOURCE_STARTS,
} from "./settings.ts";
import { formatSize, SIZE_PATTERN } from "./size.ts";
import { referenceTo } from "./yaml/environment-references.ts";

/**
 * The definition of drydock.yaml: every key with its meaning, its default and an example. The JSON Schema and
 * the file that `drydock init` writes are made from it.
 *
 * Messages complete a sentence that begins with the name of the key: "must be true or false".
 */

/** The names that a file declares and may refer to. */
export interface DeclaredNames {
  readonly strategies: readonly string[];
  readonly resourceTypes: readonly string[];
  readonly resources: readonly string[];
}

// Patterns go into the JSON Schema, so they use only syntax that every validator knows.
const CLASS_NAME_PATTERN = /^[A-Za-z_$][A-Za-z0-9_$]*$/;
const defaults = DEFAULT_SETTINGS.sandbox;

/** "module:ClassName"; the class follows the last colon. */
export const MODULE_AND_CLASS_PATTERN = /^(.+):([A-Za-z_$][A-Za-z0-9_$]*)$/;
/** A program: "exec:" and its path. */
export const PROGRAM_PATTERN = /^exec:.+$/;
const STRATEGY_SOURCE_PATTERN = /^(?:.+:[A-Za-z_$][A-Za-z0-9_$]*|exec:.+)$/;

/** The schema of a file that declares these names; without them, of any file. */
export function configSchema(declared?: DeclaredNames) {
  // Of a file that is read, `declared` has the inline strategies too.
  const strategy = oneOf([AUTOMATIC_STRATEGY, ...BUILT_IN_STRATEGY_NAMES], declared?.strategies, [
    INLINE_STRATEGY_PATTERN,
  ]);
  const resourceType = oneOf(BUILT_IN_RESOURCE_TYPES, declared?.resourceTypes);
  return z.strictObject(
    {
      sandbox: sandboxSection(strategy),
      checks: checksSection(),
      run: policySection(),
      resources: resourcesSection(strategy, resourceType, oneOf([], declared?.resources)),
      resource_types: resourceTypesSection(strategy, resourceType),
      fleet: fleetSection(resourceType),
    },
    "must be a map of keys and values",
  );
}

/** A config that has passed the schema. */
export type ConfigValues = z.output<ReturnType<typeof configSchema>>;

function sandboxSection(strategy: z.ZodType<string, string>) {
  return section({
    strategy: strategy
      .default(defaults.strategy)
      .describe(
        "How resources are isolated, unless they or their type say otherwise. auto takes the strongest that works.",
      ),
    cleanup: z
      .enum(CLEANUP_POLICIES)
      .default(defaults.cleanup)
      .describe(
        "When sandboxes are removed by themselves: on_apply once the plan is applied or cancelled, on_terminal once it is over for good (undone, cancelled, or applied and no longer to be undone), manual never.",
      ),
    allow_setid: flag(defaults.allowSetid, "May setuid and setgid files made inside a sandbox land?"),
    allow_devices: flag(defaults.allowDevices, "May device nodes made inside a sandbox land?"),
    allow_self_running: z
      .array(z.string("must be text").min(1, "must be a path or a pattern"), "must be a list")
      .refine((patterns) => new Set(patterns).size === patterns.length, "names something twice")
      .default([...defaults.allowSelfRunning])
      .describe(
        "What may land without a question though tools run it by themselves (git hooks, editor tasks): [RESOURCE:]PATTERN each, with * and **.",
      ),
    keep_output: flag(
      defaults.keepOutput,
      "Keep up to 16 KiB of what each command writes in the history of its plan, if that is captured or goes to a terminal?",
    ),
    checkpoint: section({
      auto_create_on: z
        .array(z.enum(CHECKPOINT_OCCASIONS), "must be a list")
        .refine((occasions) => new Set(occasions).size === occasions.length, "names something twice")
        .default([...defaults.checkpoint.autoCreateOn])
        .describe("What a checkpoint is made before: exec, a command inside the plan. [] for never."),
      keep: z
        .int("must be a whole number")
        .min(1, "must be at least 1")
        .default(defaults.checkpoint.keep)
        .describe("How many checkpoints of a plan are kept; the oldest go first."),
    }).describe("Checkpoints that are made without being asked for."),
    undo: section({
      keep: z
        .string("must be a duration")
        .regex(DURATION_PATTERN, "must be a duration")
        .default(formatDuration(defaults.undo.keepMilliseconds))
        .describe("How long an applied plan can be undone: a number and d, h, m or s."),
    }).describe("Taking an applied plan back."),
    closed_plans: section({
      keep: z
        .string("must be a duration")
        .regex(DURATION_PATTERN, "must be a duration")
        .default(formatDuration(defaults.closedPlans.keepMilliseconds))
        .describe(
          "How long a plan that is over stays known, with its history, once it can't be undone any more: a number and d, h, m or s.",
        ),
      most_changes: z
        .int("must be a whole number")
        .min(0, "must be at least 0")
        .default(defaults.closedPlans.mostChanges)
        .describe(
          "How many changes of a landing stay listed once it can't be undone any more; of the rest, the number.",
        ),
    }).describe("Plans that are over."),
    merge: section({
      keep: z
        .string("must be a size")
        .regex(SIZE_PATTERN, "must be a size")
        .default(formatSize(defaults.merge.keepBytes))
        .describe(
          "The size up to which the earlier content of a changed file is kept, so that plan update can merge it: a number and k, m or g.",
        ),
    }).describe("Bringing in what others changed meanwhile."),
    git: section({
      fast_forward: flag(
        defaults.git.fastForward,
        "If the branch has no new commits of others, move it to the plan's commits, without a merge commit?",
      ),
      run_hooks: flag(
        defaults.git.runHooks,
        "Run your repository's own hooks commit-msg and pre-merge-commit before a plan lands, and post-merge after it?",
      ),
      timeout: timeLimit(
        defaults.git.limitMilliseconds,
        "How long a git command may say nothing before it is ended",
      ),
    }).describe("How plans over git checkouts land."),
    transaction: section({
      idle: timeLimit(
        defaults.transaction.idleMilliseconds,
        "How long a transaction that a plan holds on a database server may go unused before it is ended",
      ),
      age: timeLimit(
        defaults.transaction.ageMilliseconds,
        "How long such a transaction may be open at all, because it keeps others waiting",
      ),
    }).describe("Transactions that plans hold on database servers."),
    limits: limitsSection(
      "What a command inside a plan may use, with everything that it starts; without a key, no limit.",
    ),
    custom_strategies: named(customStrategy(), {
      names: freeNames([AUTOMATIC_STRATEGY, ...BUILT_IN_STRATEGY_NAMES], "a strategy of Drydock's own"),
      description:
        'Strategies of your own, from a file or a package: { module, class, options, timeout } or "module:ClassName"; or from a program: { module: "exec:./program" }.',
      example: { my_strategy: { module: "./my-strategy.mjs", class: "MyStrategy" } },
    }),
  }).describe("How sandboxes are made, kept and removed.");
}

function checksSection() {
  const run = z.string("must be text").min(1, "must be a command");
  const check = z.union([
    run,
    z.strictObject(
      {
        run: run.meta({ description: "The command, as a shell takes it.", examples: ["npm test"] }),
        name: z
          .string("must be text")
          .min(1, "must be a name")
          .optional()
          .meta({ description: "Its name in messages and in the log.", examples: ["tests"] }),
        timeout: timeLimit(DEFAULT_CHECK_MS, "How long it may run"),
      },
      "must be a command, or { run, name, timeout }",
    ),
  ]);
  return z
    .array(check, "must be a list")
    .default([])
    .describe(
      "Commands that must succeed inside the sandboxes before a plan lands, in this order: each as a shell takes it, or { run, name, timeout }. What they write does not land.",
    );
}

function timeLimit(milliseconds: number, meaning: string) {
  return positiveDuration()
    .default(formatDuration(milliseconds))
    .describe(`${meaning}: a number and d, h, m or s.`);
}

function customStrategy() {
  return z.union([
    z
      .string("must be text")
      .regex(STRATEGY_SOURCE_PATTERN, 'must look like "module:ClassName"')
      .meta({
        examples: ["./my-strategy.mjs:MyStrategy"],
      }),
    z
      .strictObject(
        {
          module: z
            .string("must be text")
            .min(1, "must be a file, a package or a program")
            .meta({
              description: "A file, relative to this one, or a package; or a program: exec:./program.",
              examples: ["./my-strategy.mjs"],
            }),
          class: z
            .string("must be text")
            .regex(CLASS_NAME_PATTERN, "must be the name of a class")
            .optional()
            .meta({
              description: "The export of the module that is the class. A program has none.",
              examples: ["MyStrategy"],
            }),
          options: z
            .record(z.string(), z.unknown(), "must be a map of keys and values")
            .optional()
            .describe("What the strategy gets as its options."),
          timeout: timeLimit(DEFAULT_CALL_LIMIT_MS, "How long one call of it may take"),
        },
        'must be { module, class } or "module:ClassName"',
      )
      .refine((given) => given.class !== undefined || PROGRAM_PATTERN.test(given.module), {
        message: "needs a class: only a program (exec:./program) has none",
      })
      .refine((given) => given.class === undefined || !PROGRAM_PATTERN.test(given.module), {
        message: "has a class, but its module is a program",
      }),
  ]);
}

function resourcesSection(
  strategy: z.ZodType<string, string>,
  resourceType: z.ZodType<string, string>,
  resource: z.ZodType<string, string>,
) {
  const declaration = z
    .strictObject(
      {
        location: z
          .string("must be text")
          .min(1, "must be a path or a URL")
          .refine((location) => !location.includes("\0"), "must not hold a NUL character")
          .refine(
            (location) => !/^~(\/|$)/.test(location),
            `begins with ~, which is not replaced: write ${referenceTo("HOME")}`,
          )
          .meta({ description: "A path, relative to this file's folder, or a URL.", examples: ["./app"] }),
        type: resourceType.optional().describe("What it is; detected if left out."),
        strategy: strategy.optional().describe("How it is isolated."),
        from: z
          .enum(RESOURCE_STARTS)
          .optional()
          .describe(
            "What the sandbox of a git checkout begins with: head, or checkout for the files as they are.",
          ),
        parent: resource.optional().describe("The resource that contains it."),
      },
      "must be a map of keys and values",
    )
    .meta({ examples: [{ location: "./app" }] });
  return named(declaration, {
    reference: "parent",
    description: "Resources that commands can use by their name.",
    example: { app: { location: "./app", type: "fs-directory" } },
  });
}

function listOf<Item extends z.ZodType>(item: Item) {
  return z
    .array(item, "must be a list")
    .refine((items) => new Set(items).size === items.length, "names something twice");
}

function resourceTypesSection(strategy: z.ZodType<string, string>, resourceType: z.ZodType<string, string>) {
  const declaration = z
    .strictObject(
      {
        extends: resourceType
          .optional()
          .meta({ description: "The type that this one is like.", examples: ["fs-directory"] }),
        sandbox_strategy: strategy.optional().describe("How resources of this type are isolated."),
        strategies: listOf(strategy)
          .optional()
          .meta({
            description: "The strategies that may isolate them.",
            examples: [["overlay", "copy_on_write"]],
          }),
        parent_types: listOf(resourceType)
          .optional()
          .meta({
            description: "The types of resource that they may be inside of.",
            examples: [["git-checkout"]],
          }),
        child_types: listOf(resourceType)
          .optional()
          .meta({
            description: "The types of resource that may be inside of them.",
            examples: [["sqlite-database"]],
          }),
        capabilities: listOf(z.enum(RESOURCE_CAPABILITIES))
          .optional()
          .meta({
            description: "What can be done with them: read, write, sandbox, checkpoint.",
            examples: [["read", "sandbox", "checkpoint"]],
          }),
      },
      "must be a map of keys and values",
    )
    .superRefine(({ sandbox_strategy: chosen, strategies }, context) => {
      if (chosen === undefined || chosen === AUTOMATIC_STRATEGY || strategies?.includes(chosen) !== false)
        return;
      context.addIssue({
        code: "custom",
        path: ["sandbox_strategy"],
        message: "is not among its strategies",
      });
    })
    .meta({ examples: [{ extends: "fs-directory" }] });
  return named(declaration, {
    names: freeNames(BUILT_IN_RESOURCE_TYPES, "a type of Drydock's own"),
    reference: "extends",
    description: "Types of resource of your own, each made out of another.",
    example: { "build-folder": { extends: "fs-directory", sandbox_strategy: "copy_on_write" } },
  });
}
