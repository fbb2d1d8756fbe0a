import { z } from "zod";
import { fleetOf } from "../../plans/resources/fleet-of.ts";
import { json } from "../operation.ts";
import { hostShape, hostsShape, shownHostShape } from "../shapes/host-shapes.ts";
import { text } from "../shapes/parameters.ts";

const ofHost = z.strictObject({ host: text.min(1).describe("The name of a host of the fleet.") });

export const HOST_OPERATIONS = [
  json({
    id: "listHosts",
    method: "get",
    path: "/hosts",
    summary: "List the hosts of the fleet",
    output: hostsShape,
    call: async (_, { services }) => {
      const fleet = fleetOf(services);
      return { host: fleet.host, hosts: await fleet.hosts() };
    },
  }),
  json({
    id: "showHost",
    method: "get",
    path: "/hosts/{host}",
    summary: "Show a host of the fleet, what it lends and what waits for it",
    parameters: ofHost,
    output: shownHostShape,
    call: async ({ parameters }, { services }) => await fleetOf(services).show(parameters.host),
  }),
  json({
    id: "drainHost",
    method: "post",
    path: "/hosts/{host}/drain",
    summary: "Let a host take no new sandboxes; with undo let it take them again",
    parameters: ofHost,
    body: z.strictObject({ undo: z.boolean().exactOptional() }),
    output: hostShape,
    call: async ({ parameters, body }, { services }) =>
      await fleetOf(services).drain(parameters.host, body.undo !== true),
  }),
  json({
    id: "removeHost",
    method: "delete",
    path: "/hosts/{host}",
    summary: "Forget a host that is gone for good",
    parameters: ofHost,
    output: z.strictObject({ removed: z.string() }),
    call: async ({ parameters }, { services }) => {
      await fleetOf(services).remove(parameters.host);
      return { removed: parameters.host };
    },
  }),
];
