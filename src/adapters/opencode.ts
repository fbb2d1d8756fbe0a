import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";

/*
 * opencode runs its plugins in Bun, where the library can't be loaded. So this entry calls the command
 * `drydock hook`, which hands out the folder of a plan as a worktree, and imports nothing but Node's own
 * modules, which Bun has too. The types below are those of @opencode-ai/plugin, as far as they matter here.
 */

/** A workspace, as opencode keeps it. */
export interface WorkspaceInfo {
  id: string;
  type: string;
  name: string;
  branch: string | null;
  directory: string | null;
  extra: unknown | null;
  projectID: string;
}

/** What opencode asks for a kind of workspace. */
export interface WorkspaceAdapter {
  name: string;
  description: string;
  configure(info: WorkspaceInfo): Promise<WorkspaceInfo>;
  create(info: WorkspaceInfo): Promise<void>;
  remove(info: WorkspaceInfo): Promise<void>;
  target(info: WorkspaceInfo): { type: "local"; directory: string };
}

/** What a plugin gets from opencode. */
export interface PluginInput {
  /** Where opencode was started. */
  readonly directory: string;
  readonly experimental_workspace: { register(type: string, adapter: WorkspaceAdapter): void };
}

export interface WorkspaceOptions {
  /** The command, or its path. Default: `drydock`, on PATH. */
  readonly program?: string;
}

/**
 * A plugin of opencode that adds workspaces of the type `drydock`: each is the folder of a plan, which lands
 * when its user applies it.
 *
 * @example
 * ```ts
 * // .opencode/plugins/drydock.ts
 * export { drydockWorkspaces } from "drydock-sandbox/opencode";
 * ```
 */
export async function drydockWorkspaces(
  { directory: cwd, experimental_workspace: workspaces }: PluginInput,
  { program = "drydock" }: WorkspaceOptions = {},
): Promise<Record<string, never>> {
  const hook = (hook_event_name: string, facts: object): Promise<string> =>
    calledHook(program, { hook_event_name, cwd, ...facts });
  workspaces.register("drydock", {
    name: "Drydock plan",
    description: "An isolated copy of this project, which lands when you apply its plan",
    // opencode keeps what this returns, and only the plan says where its folder is. A plan that is there
    // under this name is found again.
    configure: async (info) => ({ ...info, directory: await hook("WorktreeCreate", { name: info.name }) }),
    create: async () => undefined,
    remove: async ({ directory }) => {
      if (directory !== null) await hook("WorktreeRemove", { worktree_path: directory });
    },
    target: ({ name, directory }) => {
      if (directory === null) throw new Error(`The workspace ${name} has no folder.`);
      return { type: "local", directory };
    },
  });
  return {};
}

/** Gives `drydock hook` an event; returns the path that it prints. */
async function calledHook(program: string, event: object): Promise<string> {
  const child = spawn(program, ["hook"], { stdio: ["pipe", "pipe", "pipe"] });
  const ended = once(child, "close");
  child.stdin.on("error", () => undefined).end(JSON.stringify(event));
  const [path, said, [status]] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  if (status !== 0) throw new Error(said.trim() || `${program} hook ended with ${status}.`);
  return path.replace(/\n$/, "");
}
