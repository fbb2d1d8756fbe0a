import { type Command, Option } from "commander";
import { messageOf } from "../../../core/errors/errors.ts";
import { ALLOW_APPLY, type AllowApply } from "../../../mcp/tool.ts";
import type { Services } from "../../../services.ts";
import type { CommandContext } from "../../command-context.ts";
import { openToChange } from "../../open-for-command.ts";
import { addResourceOption, resourceRequests } from "../../options/resource-requests.ts";
import { version } from "../version.ts";

interface McpOptions {
  readonly plan?: string;
  readonly resource?: readonly string[];
  readonly allowApply: AllowApply;
}

/** `drydock mcp [--plan PLAN] [-r …]… [--allow-apply never|approved|always]` */
export function define(command: Command, context: CommandContext): void {
  addResourceOption(command)
    .addOption(
      new Option("--plan <plan>", "the plan to work in where a call names none").conflicts("resource"),
    )
    .addOption(
      new Option("--allow-apply <rule>", "what the agent may land: nothing, what you approved, or everything")
        .choices(ALLOW_APPLY)
        .default("approved"),
    )
    .action(async (options: McpOptions) => await serve(context, options));
}

async function serve(context: CommandContext, options: McpOptions): Promise<void> {
  const { resource: given, allowApply } = options;
  await openToChange(context, options.plan, async (services, signal) => {
    const planOfServer =
      given === undefined ? namedPlan(services, options.plan) : newPlan(context, services, given);
    // A wrong name is told at once. A plan is made only for a client that works: some start a server only to
    // see which protocol it speaks.
    if (given === undefined) await planOfServer();
    const { serveOnStdio } = await import("../../../mcp/serve-stdio.ts");
    await serveOnStdio({
      ...{ services, allowApply, signal },
      planOf: async (named) => named ?? (await planOfServer()),
      version: await version(),
      onError: (error) => context.output.notice(`mcp: ${messageOf(error)}`),
    });
  });
}

function namedPlan(services: Services, plan: string | undefined): () => Promise<string | undefined> {
  return async () => (plan === undefined ? undefined : (await services.plans.find(plan)).id);
}

function newPlan(
  { cwd, output }: CommandContext,
  services: Services,
  given: readonly string[],
): () => Promise<string> {
  let made: Promise<string> | undefined;
  const make = async (): Promise<string> => {
    const { id } = await services.plans.create({ resources: resourceRequests(given, cwd) });
    output.notice(`The plan of this server is ${id}.`);
    return id;
  };
  return async () => {
    made ??= make();
    try {
      return await made;
    } catch (thrown) {
      // The next call tries again.
      made = undefined;
      throw thrown;
    }
  };
}
