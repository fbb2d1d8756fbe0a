import type { Services } from "../services.ts";
import type { Plan, ResourceHandle } from "./plan.ts";
import { checkedPlan, checkedResource, checkedSweeps } from "./public-arguments.ts";

/** The handle of a plan. Each call goes to the services, for this plan. */
export function planHandle(services: Services, { id, name }: Pick<Plan, "id" | "name">): Plan {
  const { plans, checkpoints, sandboxes } = services;
  return checkedPlan({
    ...resourceHandle(services, id),
    id,
    name,
    resource: (resource) => checkedResource(resourceHandle(services, id, resource)),
    show: async () => await plans.show(id),
    exec: async (request) => await services.exec(id, request),
    run: async (request) => await services.capture(id, request),
    spawn: async (request) => await services.spawn(id, request),
    diff: async (options) => await plans.diff(id, options),
    patch: (options) => plans.patch(id, options),
    apply: async (options) => await plans.apply(id, options),
    approve: async (options) => await plans.approve(id, options),
    requestReview: async (options) => await plans.requestReview(id, options),
    approval: async () => await plans.approval(id),
    undo: async () => await plans.undo(id),
    rollback: async () => await plans.rollback(id),
    cancel: async () => await plans.cancel(id),
    checkpoint: async (options) => await checkpoints.checkpoint(id, options),
    checkpoints: async () => await checkpoints.list(id),
    restore: async (checkpoint) => await checkpoints.restore(id, checkpoint),
    log: async () => await services.log(id),
    settle: async (how) => await services.settle(id, how),
    abandon: async () => await services.abandon(id),
    sandboxes: checkedSweeps({
      rollback: async () => await sandboxes.rollbackAll(id),
      remove: async () => await sandboxes.cleanupAll(id),
      removeAbandoned: async () => await sandboxes.cleanupAbandoned(id),
    }),
  });
}

/** The handle of a resource; without a name, of the only one. */
function resourceHandle({ plans, sandboxes }: Services, planId: string, name?: string): ResourceHandle {
  return {
    path: async () => await plans.path(planId, name),
    read: async (path) => await plans.read(planId, name, path),
    write: async (path, content) =>
      await plans.write(planId, name, path, typeof content === "string" ? Buffer.from(content) : content),
    sql: async (script) => await plans.sql(planId, name, script),
    sandbox: async () => await sandboxes.getOrCreate(planId, name),
  };
}
