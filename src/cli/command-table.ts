import type { Command } from "commander";
import type { CommandContext } from "./command-context.ts";

/** Gives a command its arguments, options and action. */
export type DefineCommand = (command: Command, context: CommandContext) => void;

/** A command, or with `commands` a group of them. */
export interface CommandEntry {
  readonly name: string;
  readonly summary: string;
  /** Loads the one file that knows the command; a start pays for no other. */
  readonly load?: () => Promise<DefineCommand>;
  readonly commands?: readonly CommandEntry[];
  /** Works on every platform. */
  readonly anywhere?: boolean;
}

const PLAN_COMMANDS: readonly CommandEntry[] = [
  {
    name: "create",
    summary: "make a plan and its sandboxes; print its id",
    load: async () => (await import("./commands/plan-create.ts")).definePlanCreate,
  },
  {
    name: "list",
    summary: "list the plans",
    load: async () => (await import("./commands/plan-list.ts")).definePlanList,
  },
  {
    name: "show",
    summary: "show a plan: its resources, their strategies and why these",
    load: async () => (await import("./commands/plan-show.ts")).definePlanShow,
  },
  {
    name: "exec",
    summary: "run a command inside the plan's sandboxes",
    load: async () => (await import("./commands/plan-exec.ts")).definePlanExec,
  },
  {
    name: "path",
    summary: "print where a sandbox is",
    load: async () => (await import("./commands/plan-path.ts")).definePlanPath,
  },
  {
    name: "read",
    summary: "print one file of a sandbox",
    load: async () => (await import("./commands/plan-read.ts")).definePlanRead,
  },
  {
    name: "write",
    summary: "write standard input to one file of a sandbox",
    load: async () => (await import("./commands/plan-write.ts")).definePlanWrite,
  },
  {
    name: "sql",
    summary: "run SQL in the sandbox of a database",
    load: async () => (await import("./commands/plan-sql.ts")).definePlanSql,
  },
  {
    name: "diff",
    summary: "show what would change",
    load: async () => (await import("./commands/plan-diff.ts")).definePlanDiff,
  },
  {
    name: "checkpoint",
    summary: "save the state of the sandboxes",
    load: async () => (await import("./commands/plan-checkpoint.ts")).definePlanCheckpoint,
  },
  {
    name: "checkpoints",
    summary: "list the saved states",
    load: async () => (await import("./commands/plan-checkpoints.ts")).definePlanCheckpoints,
  },
  {
    name: "restore",
    summary: "bring the sandboxes back to a saved state",
    load: async () => (await import("./commands/plan-restore.ts")).definePlanRestore,
  },
  {
    name: "apply",
    summary: "land everything, or nothing",
    load: async () => (await import("./commands/plan-apply.ts")).definePlanApply,
  },
  {
    name: "rollback",
    summary: "throw the changes away, keep the plan open",
    load: async () => (await import("./commands/plan-rollback.ts")).definePlanRollback,
  },
  {
    name: "undo",
    summary: "take an applied plan back",
    load: async () => (await import("./commands/plan-undo.ts")).definePlanUndo,
  },
  {
    name: "log",
    summary: "show everything that happened to a plan",
    load: async () => (await import("./commands/plan-log.ts")).definePlanLog,
  },
  {
    name: "cancel",
    summary: "throw the changes away and close the plan",
    load: async () => (await import("./commands/plan-cancel.ts")).definePlanCancel,
  },
];

const STRATEGY_COMMANDS: readonly CommandEntry[] = [
  {
    name: "list",
    summary: "list the strategies with what they can do",
    load: async () => (await import("./commands/strategy-list.ts")).defineStrategyList,
  },
  {
    name: "check",
    summary: "run the conformance suite on a strategy",
    load: async () => (await import("./commands/strategy-check.ts")).defineStrategyCheck,
  },
];

const RESOURCE_TYPE_COMMANDS: readonly CommandEntry[] = [
  {
    name: "list",
    summary: "list the types of resource",
    load: async () => (await import("./commands/resource-type-list.ts")).defineResourceTypeList,
  },
  {
    name: "show",
    summary: "show a type of resource, with the schema of one in drydock.yaml",
    load: async () => (await import("./commands/resource-type-show.ts")).defineResourceTypeShow,
  },
];

const CLEANUP_COMMANDS: readonly CommandEntry[] = [
  {
    name: "scan",
    summary: "list what is left over",
    load: async () => (await import("./commands/cleanup-scan.ts")).defineCleanupScan,
  },
  {
    name: "purge",
    summary: "remove what is left over",
    load: async () => (await import("./commands/cleanup-purge.ts")).defineCleanupPurge,
  },
  {
    name: "status",
    summary: "say how much of what there is",
    load: async () => (await import("./commands/cleanup-status.ts")).defineCleanupStatus,
  },
];

/** Every command, in the order in which help shows them. */
export const COMMANDS: readonly CommandEntry[] = [
  {
    name: "run",
    summary: "run a command inside, show what it changed, then land or discard it",
    load: async () => (await import("./commands/run.ts")).defineRun,
  },
  { name: "plan", summary: "work with plans: sets of changes that land together", commands: PLAN_COMMANDS },
  {
    name: "recover",
    summary: "finish or undo what a crash left; settle what is in doubt",
    load: async () => (await import("./commands/recover.ts")).defineRecover,
  },
  { name: "cleanup", summary: "find and remove what is left over", commands: CLEANUP_COMMANDS },
  { name: "strategy", summary: "look at the ways to isolate a resource", commands: STRATEGY_COMMANDS },
  { name: "resource-type", summary: "look at the types of resource", commands: RESOURCE_TYPE_COMMANDS },
  {
    name: "doctor",
    summary: "say what works on this machine",
    load: async () => (await import("./commands/doctor.ts")).defineDoctor,
    anywhere: true,
  },
  {
    name: "init",
    summary: "write a commented drydock.yaml",
    load: async () => (await import("./commands/init.ts")).defineInit,
  },
  {
    name: "trust",
    summary: "trust a config as it is now",
    load: async () => (await import("./commands/trust.ts")).defineTrust,
  },
];
