import { z } from "zod";

/** The documents about the hosts of a fleet, as `--json` prints them. */

const host = z.strictObject({
  name: z.string(),
  isUp: z.boolean().describe("Whether its service runs, as far as its lease says."),
  since: z.string().optional().describe("Since when it is up, or since when nothing was heard of it."),
  isDrained: z.boolean().describe("It takes no new sandboxes."),
  drydock: z.string(),
  contract: z.number(),
  lend: z.array(z.strictObject({ location: z.string(), type: z.string().optional(), run: z.boolean() })),
  epoch: z.number(),
  start: z.string().optional(),
  waiting: z.number().describe("How many calls wait for it, or run there."),
});

export const hostShape = host.meta({ id: "Host" });

export const hostsShape = z.strictObject({
  host: z.string().describe("The name of this host."),
  hosts: z.array(hostShape),
});

export const shownHostShape = host
  .extend({
    plans: z
      .array(
        z.strictObject({ planId: z.string(), planName: z.string(), state: z.string(), since: z.string() }),
      )
      .describe("The plans that wait for it."),
  })
  .meta({ id: "ShownHost" });
