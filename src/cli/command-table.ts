import type { CommandEntry, CommandModule } from "./command-entry.ts";

function command(name: string, summary: string, load: () => Promise<CommandModule>): CommandEntry {
  return { name, summary, load };
}

const SCRATCH_COMMANDS: readonly CommandEntry[] = [
  command(
    "list",
    "list the files that the plan's commands wrote outside of it",
    () => import("./commands/scratch/scratch-list.ts"),
  ),
  command(
    "diff",
    "show how these files differ from those of the machine",
    () => import("./commands/scratch/scratch-diff.ts"),
  ),
];

const PLAN_COMMANDS: readonly CommandEntry[] = [
  command(
    "create",
    "make a plan and its sandboxes; print its id",
    () => import("./commands/plan/plan-create.ts"),
  ),
  command(
    "add",
    "take another resource into a plan, with what its commands wrote there",
    () => import("./commands/plan/plan-add.ts"),
  ),
  command("list", "list the plans", () => import("./commands/plan/plan-list.ts")),
  command(
    "show",
    "show a plan: its resources, their strategies and why these",
    () => import("./commands/plan/plan-show.ts"),
  ),
  command("exec", "run a command inside the plan's sandboxes", () => import("./commands/plan/plan-exec.ts")),
  command("path", "print where a sandbox is", () => import("./commands/plan/plan-path.ts")),
  command("read", "print one file of a sandbox", () => import("./commands/plan/plan-read.ts")),
  command(
    "write",
    "write standard input to one file of a sandbox",
    () => import("./commands/plan/plan-write.ts"),
  ),
  command("ls", "list files of a sandbox", () => import("./commands/entry/plan-ls.ts")),
  command("rm", "remove files of a sandbox", () => import("./commands/entry/plan-rm.ts")),
  command("mv", "rename a file or folder of a sandbox", () => import("./commands/entry/plan-mv.ts")),
  {
    name: "scratch",
    summary: "look at what the plan's commands wrote outside of it",
    commands: SCRATCH_COMMANDS,
  },
  command("sql", "run SQL in the sandbox of a database", () => import("./commands/plan/plan-sql.ts")),
  command("diff", "show what would change", () => import("./commands/plan/plan-diff.ts")),
  command(
    "checkpoint",
    "save the state of the sandboxes",
    () => import("./commands/checkpoint/plan-checkpoint.ts"),
  ),
  command("checkpoints", "list the saved states", () => import("./commands/checkpoint/plan-checkpoints.ts")),
  command(
    "restore",
    "bring the sandboxes back to a saved state",
    () => import("./commands/checkpoint/plan-restore.ts"),
  ),
  command(
    "update",
    "bring what others changed meanwhile into the plan",
    () => import("./commands/update/plan-update.ts"),
  ),
  command(
    "resolve",
    "settle a path that others changed too",
    () => import("./commands/update/plan-resolve.ts"),
  ),
  command("apply", "land everything, or nothing", () => import("./commands/plan/plan-apply.ts")),
  command(
    "rollback",
    "throw the changes away, keep the plan open",
    () => import("./commands/plan/plan-rollback.ts"),
  ),
  command("undo", "take an applied plan back", () => import("./commands/plan/plan-undo.ts")),
  command("log", "show everything that happened to a plan", () => import("./commands/plan/plan-log.ts")),
  command(
    "cancel",
    "throw the changes away and close the plan",
    () => import("./commands/plan/plan-cancel.ts"),
  ),
];

const STRATEGY_COMMANDS: readonly CommandEntry[] = [
  command("list", "list the strategies and their capabilities", () => import("./commands/strategy-list.ts")),
  command("check", "run the conformance suite on a strategy", () => import("./commands/strategy-check.ts")),
];

const RESOURCE_TYPE_COMMANDS: readonly CommandEntry[] = [
  command("list", "list the types of resource", () => import("./commands/resource-type-list.ts")),
  command(
    "show",
    "show a type of resource, with the schema of one in drydock.yaml",
    () => import("./commands/resource-type-show.ts"),
  ),
];

const CLEANUP_COMMANDS: readonly CommandEntry[] = [
  command("scan", "list leftovers of plans and commands", () => import("./commands/cleanup/cleanup-scan.ts")),
  command(
    "purge",
    "remove leftovers of plans and commands",
    () => import("./commands/cleanup/cleanup-purge.ts"),
  ),
  command(
    "status",
    "count sandboxes, undo records and leftovers",
    () => import("./commands/cleanup/cleanup-status.ts"),
  ),
  command(
    "install-timer",
    "let systemd clean up once a day",
    () => import("./commands/cleanup/install-timer.ts"),
  ),
  command(
    "remove-timer",
    "remove what 'install-timer' installed",
    () => import("./commands/cleanup/remove-timer.ts"),
  ),
];

const HOST_COMMANDS: readonly CommandEntry[] = [
  command(
    "start",
    "serve the fleet as this host, until it is ended",
    () => import("./commands/host/host-start.ts"),
  ),
  command("list", "list the hosts of the fleet", () => import("./commands/host/host-list.ts")),
  command(
    "show",
    "show a host, what it lends and what waits for it",
    () => import("./commands/host/host-show.ts"),
  ),
  command("drain", "let a host take no new sandboxes", () => import("./commands/host/host-drain.ts")),
  command("remove", "forget a host that is gone for good", () => import("./commands/host/host-remove.ts")),
];

/** Every command, in the order in which help shows them. */
export const COMMANDS: readonly CommandEntry[] = [
  command(
    "run",
    "run a command inside, show what it changed, then land or discard it",
    () => import("./commands/run/run.ts"),
  ),
  command(
    "shell",
    "run your shell inside, as 'run' does with a command",
    () => import("./commands/run/shell.ts"),
  ),
  command(
    "attach",
    "show the terminal of a command that was started with --detach",
    () => import("./commands/run/attach.ts"),
  ),
  command("status", "short for 'plan show'", () => import("./commands/plan/plan-show.ts")),
  command("diff", "short for 'plan diff'", () => import("./commands/plan/plan-diff.ts")),
  command("apply", "short for 'plan apply'", () => import("./commands/plan/plan-apply.ts")),
  command("undo", "short for 'plan undo'", () => import("./commands/plan/plan-undo.ts")),
  command("list", "short for 'plan list'", () => import("./commands/plan/plan-list.ts")),
  command(
    "review",
    "look at plans in the browser, and wait for the verdict",
    () => import("./commands/review/review.ts"),
  ),
  command(
    "approve",
    "approve exactly what a plan would change, for 'plan apply --approved'",
    () => import("./commands/review/approve.ts"),
  ),
  { name: "plan", summary: "work with plans: sets of changes that land together", commands: PLAN_COMMANDS },
  command(
    "recover",
    "finish or undo what a crash cut off; settle what is in doubt",
    () => import("./commands/recover.ts"),
  ),
  { name: "cleanup", summary: "find and remove leftovers of plans and commands", commands: CLEANUP_COMMANDS },
  { name: "host", summary: "serve a fleet of hosts, and look after it", commands: HOST_COMMANDS },
  {
    name: "strategy",
    summary: "list and check the strategies that isolate resources",
    commands: STRATEGY_COMMANDS,
  },
  { name: "resource-type", summary: "list and show the types of resource", commands: RESOURCE_TYPE_COMMANDS },
  {
    ...command("doctor", "say what works on this machine", () => import("./commands/doctor.ts")),
    anywhere: true,
  },
  command("serve", "serve programs by HTTP, at a private socket", () => import("./commands/serve/serve.ts")),
  command(
    "mcp",
    "serve an agent on standard input and output (Model Context Protocol)",
    () => import("./commands/serve/mcp.ts"),
  ),
  command(
    "acp",
    "run an agent inside that an editor talks to (Agent Client Protocol)",
    () => import("./commands/agent/acp.ts"),
  ),
  command(
    "hook",
    "take an event of an agent's hooks on standard input",
    () => import("./commands/agent/hook.ts"),
  ),
  command("init", "write a commented drydock.yaml", () => import("./commands/init.ts")),
  command("trust", "trust a config as it is now", () => import("./commands/trust.ts")),
  {
    ...command("completion", "print the completion for a shell", async () =>
      (await import("./commands/completion.ts")).completionOf(COMMANDS),
    ),
    anywhere: true,
  },
  {
    ...command("version", "print the version", () => import("./commands/version.ts")),
    anywhere: true,
  },
];
