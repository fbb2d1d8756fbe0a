import { fleetOf } from "../plans/resources/fleet-of.ts";
import { openServices } from "../runtime.ts";
import type { Services } from "../services.ts";
import { callsOf } from "./calls.ts";
import type { Drydock, DrydockOptions, Strategies, StrategyView } from "./drydock.ts";
import { planHandle } from "./plan-handle.ts";
import { checkedDrydock, drydockOptions } from "./public-arguments.ts";

/**
 * Opens Drydock. Before it returns, it settles what dead processes left unfinished.
 *
 * @example
 * ```ts
 * import { openDrydock } from "drydock-sandbox";
 *
 * await using drydock = await openDrydock({ stateDir: "state" });
 * const plan = await drydock.plans.create({ resources: [{ location: "website" }] });
 * await plan.write("notes.txt", "hello\n");
 * await plan.apply({ message: "add notes" });
 * ```
 */
export async function openDrydock(options?: DrydockOptions): Promise<Drydock> {
  const { environment = process.env, ...given } = drydockOptions(options);
  const services = await openServices({ ...given, environment: withoutFailpoints(environment) });
  const { plans, resourceTypes, cleanup } = services;
  const close = async () => await services.close();
  return checkedDrydock({
    stateDir: services.stateDir,
    plans: {
      create: async (wanted) =>
        planHandle(services, await callsOf(services, {})("create", wanted, (rest) => plans.create(rest))),
      open: async (plan) => planHandle(services, await plans.find(plan)),
      list: async (wanted) => await plans.list(wanted),
    },
    run: async (request) =>
      await callsOf(services, {})("run", request, (rest) =>
        services.run({ ...rest, signal: services.operations.signal }),
      ),
    explain: async (request) => await services.explain(request),
    events: async function* (wanted) {
      yield* await services.events(wanted);
    },
    recovery: services.recovery,
    recover: async () => await services.recover(),
    cleanup: {
      scan: async (wanted) => await cleanup.scan(wanted),
      purge: async (wanted) => await cleanup.purge(wanted),
      idlePlans: async (wanted) => await cleanup.idlePlans(wanted),
      status: async () => await cleanup.status(),
    },
    hosts: {
      list: async () => {
        const fleet = fleetOf(services);
        return { host: fleet.host, hosts: await fleet.hosts() };
      },
      show: async (name) => await fleetOf(services).show(name ?? fleetOf(services).host),
      drain: async (name) => await fleetOf(services).drain(name, true),
      undrain: async (name) => await fleetOf(services).drain(name, false),
      remove: async (name) => await fleetOf(services).remove(name),
    },
    strategies: strategiesOf(services),
    resourceTypes: {
      list: () => resourceTypes.list(),
      has: (name) => resourceTypes.has(name),
      get: (name) => resourceTypes.get(name),
      mayContain: (parent, child) => resourceTypes.mayContain(parent, child),
    },
    doctor: async () => await services.doctor(),
    trust: async (file) => await services.trust(file),
    close,
    [Symbol.asyncDispose]: close,
  });
}

/** Failpoints are for tests of Drydock: in the environment of a program they must not kill it. */
function withoutFailpoints(environment: NonNullable<DrydockOptions["environment"]>) {
  const { DRYDOCK_FAILPOINT: _, DRYDOCK_FAILPOINT_TRACE: __, ...rest } = environment;
  return rest;
}

function strategiesOf({ registry, register, check }: Services): Strategies {
  return {
    list: async () => {
      const { strategies, unusable } = await registry.listAll();
      const views = strategies.map(
        ({ name, builtIn, capabilities, madeWith: { version } }): StrategyView => ({
          name,
          builtIn,
          ...(version !== undefined && { version }),
          capabilities,
        }),
      );
      return { strategies: views, unusable };
    },
    has: (name) => registry.has(name),
    register: (make) => register(make),
    remove: (name) => registry.remove(name),
    check: async (strategy, request) => await check(strategy, request),
  };
}
