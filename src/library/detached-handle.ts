import { amount, content, fields, optional, text, truth } from "../core/values/arguments.ts";
import { type CheckedMethods, withCheckedCalls } from "../core/values/checked-calls.ts";
import { partNamed } from "../run/detached/detached-protocol.ts";
import type { Services } from "../services.ts";
import type { CallOptions } from "./call-options.ts";
import { callsOf } from "./calls.ts";
import { callFields, callOptions, detachFields, windowSize } from "./command-arguments.ts";
import type { DetachedCommand, DetachOptions, OutputOptions } from "./detached-command.ts";
import type { CancelOptions, Plan } from "./plan.ts";

const commandMethods: CheckedMethods<DetachedCommand> = {
  show: [],
  output: [
    [
      "options",
      optional(fields<OutputOptions>({ ...callFields, from: optional(amount), last: optional(amount) })),
    ],
  ],
  write: [["input", content], callOptions],
  resize: [["size", windowSize], callOptions],
  ended: [callOptions],
  end: [callOptions],
};

/** The methods of a plan for detached commands. */
type DetachMethods = Pick<Plan, "detach" | "commands" | "command" | "cancel">;

/** The arguments that these accept; see public-arguments.ts. */
export const detachMethods: CheckedMethods<DetachMethods> = {
  detach: [["options", fields<DetachOptions>({ ...detachFields, ...callFields })]],
  commands: [],
  command: [["exec", optional(text)]],
  cancel: [
    ["options", optional(fields<CancelOptions & CallOptions>({ ...callFields, force: optional(truth) }))],
  ],
};

/** Detached commands of a plan, as objects. */
export function detachHandle(services: Services, planId: string): DetachMethods {
  const { detached } = services;
  const call = callsOf(services, { planId });
  const handle = ({ exec }: { readonly exec: string }) => commandHandle(services, planId, exec);
  return {
    detach: async (options) =>
      handle(await call("detach", options, (request) => detached.start(planId, request))),
    commands: async () => (await detached.running(planId)).map(handle),
    command: async (exec) => handle(await detached.show(planId, exec)),
    cancel: async (options) => await call("cancel", options, (rest) => detached.cancel(planId, rest)),
  };
}

function commandHandle(services: Services, planId: string, exec: string): DetachedCommand {
  const { detached } = services;
  const call = callsOf(services, { planId });
  const command: DetachedCommand = {
    ...{ planId, exec },
    show: async () => await detached.show(planId, exec),
    output: async (options) =>
      await call("output", options, async (part) => await detached.output(planId, exec, partNamed(part))),
    write: async (input, options) =>
      await call("write input", options, () => detached.write(planId, exec, input)),
    resize: async (size, options) => await call("resize", options, () => detached.resize(planId, exec, size)),
    ended: async (options) => await call("wait", options, () => detached.ended(planId, exec)),
    end: async (options) => await call("end", options, () => detached.end(planId, exec)),
  };
  return withCheckedCalls(command, "command.", commandMethods);
}
