import type { Services } from "../services.ts";
import { callsOf } from "./calls.ts";
import { detachHandle } from "./detached-handle.ts";
import type { Plan, ResourceHandle } from "./plan.ts";
import { checkedPlan, checkedResource, checkedSweeps } from "./public-arguments.ts";
import { reviewHandle } from "./review-handle.ts";
import { workspaceHandle } from "./workspace-handle.ts";

/** The handle of a plan. Each call goes to the services, for this plan. */
export function planHandle(services: Services, { id, name }: Pick<Plan, "id" | "name">): Plan {
  const { plans, checkpoints, updates, sandboxes, operations } = services;
  const call = callsOf(services, { planId: id });
  return checkedPlan({
    ...resourceHandle(services, id),
    id,
    name,
    resource: (resource) => checkedResource(resourceHandle(services, id, resource)),
    workspace: (resource) => workspaceHandle(services, id, resource),
    show: async () => await plans.show(id),
    add: async (options) => await call("add", options, (rest) => plans.add(id, rest)),
    scratch: async () => await services.scratch.list(id),
    exec: async (request) =>
      await call("exec", request, (rest) => services.exec(id, { ...rest, signal: operations.signal })),
    run: async (request) =>
      await call("run", request, (rest) => services.capture(id, { ...rest, signal: operations.signal })),
    spawn: async (request) =>
      await call("spawn", request, (rest) => services.spawn(id, { ...rest, signal: operations.signal })),
    explain: async (request = {}) => await services.explainExec(id, request),
    ...detachHandle(services, id),
    diff: async (options) => await call("diff", options, (rest) => plans.diff(id, rest)),
    patch: (options = {}) =>
      operations.each({ operation: "patch", planId: id, ...options }, () => plans.patch(id, options)),
    apply: async (options) => await call("apply", options, (rest) => plans.apply(id, rest)),
    approve: async (options) => await plans.approve(id, options),
    requestReview: async (options) => await plans.requestReview(id, options),
    approval: async () => await plans.approval(id),
    undo: async (options) => await call("undo", options, (rest) => plans.undo(id, rest)),
    rollback: async (options) => await call("rollback", options, (rest) => plans.rollback(id, rest)),
    checkpoint: async (options) =>
      await call("checkpoint", options, (rest) => checkpoints.checkpoint(id, rest)),
    checkpoints: async () => await checkpoints.list(id),
    restore: async (checkpoint, options) =>
      await call("restore", options, () => checkpoints.restore(id, checkpoint)),
    update: async (options) => await call("update", options, () => updates.update(id)),
    resolve: async (options) => await call("resolve", options, (rest) => updates.resolve(id, rest)),
    log: async () => await services.log(id),
    events: async function* (options) {
      yield* await services.events({ ...options, plan: id });
    },
    settle: async (how) => await services.settle(id, how),
    abandon: async () => await services.abandon(id),
    review: reviewHandle(services, id),
    sandboxes: checkedSweeps({
      rollback: async () => await sandboxes.rollbackAll(id),
      remove: async () => await sandboxes.cleanupAll(id),
      removeAbandoned: async () => await sandboxes.cleanupAbandoned(id),
    }),
  });
}

/** The handle of a resource; without a name, of the only one. */
function resourceHandle(services: Services, planId: string, name?: string): ResourceHandle {
  const { plans, sandboxes } = services;
  const call = callsOf(services, { planId, resource: name });
  return {
    path: async (options) => await call("path", options, () => plans.path(planId, name)),
    read: async (path, options) => await call("read", options, () => plans.read(planId, name, path)),
    write: async (path, content, options) => {
      const bytes = typeof content === "string" ? Buffer.from(content) : content;
      return await call("write", options, () => plans.write(planId, name, path, bytes));
    },
    sql: async (script, options) => await call("sql", options, () => plans.sql(planId, name, script)),
    sandbox: async () => await sandboxes.getOrCreate(planId, name),
  };
}
