import { z } from "zod";
import type { PlanEvent } from "../../core/values/plan-events.ts";
import type { EventsOptions } from "../../plans/plan-views.ts";
import { type Call, events, type StreamEvent } from "../operation.ts";
import { ofPlan, text } from "../shapes/parameters.ts";
import { eventShape } from "../shapes/plan-shapes.ts";

const query = z.strictObject({
  after: text
    .exactOptional()
    .describe("Only what comes behind this cursor, or 'now'. The header Last-Event-ID says the same."),
});

export const EVENT_OPERATIONS = [
  events({
    id: "followEvents",
    method: "get",
    path: "/events",
    summary: "What happens to plans, whichever process does it, in order and with nothing lost",
    query,
    events: { plan: eventShape },
    call: async ({ query: { after } }, call) => await told({}, after, call),
  }),
  events({
    id: "followPlan",
    method: "get",
    path: "/plans/{plan}/events",
    summary: "What happens to one plan",
    parameters: ofPlan,
    query,
    events: { plan: eventShape },
    call: async ({ parameters, query: { after } }, call) => {
      const { id } = await call.services.plans.find(parameters.plan);
      return await told({ plan: id }, after, call);
    },
  }),
];

async function told(
  which: EventsOptions,
  after: string | undefined,
  { services, signal, header }: Call,
): Promise<AsyncIterable<StreamEvent>> {
  const place = header("last-event-id") ?? after;
  const wanted = { ...which, signal, ...(place !== undefined && { after: place }) };
  return streamOf(await services.events(wanted));
}

async function* streamOf(all: AsyncIterable<PlanEvent>): AsyncGenerator<StreamEvent> {
  for await (const data of all) yield { event: "plan", id: data.cursor, data };
}
