import { OPERATIONS } from "../api.ts";
import type { Call, Operation } from "../operation.ts";
import type { ChannelTurns } from "./channel-turns.ts";

/**
 * What a command inside can do: look at its plan, save it, write to its databases, and ask a person. None of
 * these lands, approves, votes or ends anything, and none reaches another plan.
 */
export const OF_THE_CHANNEL: ReadonlySet<string> = new Set([
  "showPlan",
  "diffPlan",
  "patchPlan",
  "saveCheckpoint",
  "listCheckpoints",
  "restoreCheckpoint",
  "runSql",
  "showReview",
  "reviewChanges",
  "commentOnPlan",
  "requestReview",
]);

const OF_PLAN = /^\/plans\/\{plan\}/;

/**
 * The operations of the API for one plan, which no request names: /plans/{plan}/diff is /plan/diff here. They
 * take turns.
 */
export function channelOperations(planId: string, turns: ChannelTurns): readonly Operation[] {
  return OPERATIONS.filter(({ id }) => OF_THE_CHANNEL.has(id)).map((operation) => {
    const { path, parameters } = operation;
    if (!OF_PLAN.test(path)) throw new Error(`${path} is not about one plan.`);
    return {
      ...operation,
      path: path.replace(OF_PLAN, "/plan"),
      parameters: parameters.omit({ plan: true }),
      call: async (input, call: Call) =>
        await turns.take(operation, async () => {
          return await operation.call({ ...input, parameters: { ...input.parameters, plan: planId } }, call);
        }),
    };
  });
}
